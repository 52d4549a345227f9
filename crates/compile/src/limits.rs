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
    /// How many [steps](crate::budget) compiling a body may take, for each byte of it, beyond
    /// [`FREE_STEPS`](Self::FREE_STEPS).
    pub steps: u64,
    /// How many bytes of memory compiling a body may take, for each byte of it, beyond
    /// [`FREE_MEMORY`](Self::FREE_MEMORY).
    pub memory: u64,
    /// How many pairs of a local that is used and a block a body may have, for each byte of
    /// it, beyond [`FREE_LOCAL_BLOCKS`](Self::FREE_LOCAL_BLOCKS), before its locals are kept in
    /// memory. Zero keeps them there always.
    pub local_blocks: u64,
    /// How many steps the ordinary register allocator may take before the fast one is used.
    /// Zero uses that always.
    pub backtracking: u64,
}

impl Limits {
    /// How many pieces of work may be asked for, whatever the size.
    pub const FREE_WORK: u64 = 1_000_000;
    /// How many steps a function may take, whatever its size. All together may take four
    /// times as many.
    pub const FREE_STEPS: u64 = 400_000_000;
    /// How many bytes of memory a function may take, whatever its size; and how many all
    /// take together that are compiled at the same time, unless one alone takes more.
    pub const FREE_MEMORY: u64 = 512 << 20;
    /// How many pairs of a local and a block a function may have in registers, whatever its
    /// size.
    pub const FREE_LOCAL_BLOCKS: u64 = 300_000;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            nesting: 20_000,
            work: 4,
            switches: 5_000,
            steps: 1000,
            memory: 4096,
            local_blocks: 16,
            backtracking: 50_000_000,
        }
    }
}
