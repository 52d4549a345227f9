//! How much a module may ask of the compiler.
//!
//! What is linear in the size of a module has no limit. What is not, here or in
//! Cranelift, is measured before it is begun, and refused if it is far beyond
//! what programs need.

/// How much a module may ask of the compiler. Ordinary programs stay far below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep the blocks of a function may nest.
    pub nesting: u64,
    /// How many pieces of work a body may ask for, for each byte of it, beyond
    /// [`FREE_WORK`](Self::FREE_WORK). All bodies of a module together may ask for
    /// four times as many.
    pub work: u64,
    /// How many instructions of a function may switch between stacks: each is
    /// inline code for several cases.
    pub switches: u64,
    /// For how many pairs of a reference and a call during which it is needed a
    /// function may ask.
    pub live_references: u64,
    /// How many pairs of a local that is used and a block a function may have.
    pub local_blocks: u64,
    /// How many steps the allocation of a function's registers may take.
    pub allocation: u64,
    /// How many of them make the code generator look for a faster way.
    pub backtracking: u64,
}

impl Limits {
    /// How many pieces of work may be asked for, whatever the size.
    pub const FREE_WORK: u64 = 1_000_000;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            nesting: 20_000,
            work: 4,
            switches: 5_000,
            live_references: 8_000_000,
            local_blocks: 100_000_000,
            allocation: 2_000_000_000,
            backtracking: 50_000_000,
        }
    }
}
