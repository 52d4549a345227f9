//! Limits on the work of the compiler for a module.
//!
//! Work that is linear in the size of a module has no limit. Work that is not, here or in
//! Cranelift, is estimated before it begins. It is refused if it is far beyond what programs need.

/// Limits on the work of the compiler for a module. Ordinary programs stay far below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep the blocks of a function may nest.
    pub nesting: u64,
    /// The units of work that a body may need per byte, beyond [`FREE_WORK`](Self::FREE_WORK).
    /// All bodies of a module together may need four times as much.
    pub work: u64,
    /// How many instructions of a function may switch between stacks. Each is inline code for
    /// several cases.
    pub switches: u64,
    /// The [steps](crate::budget) that compiling a body may take per byte, beyond
    /// [`FREE_STEPS`](Self::FREE_STEPS).
    pub steps: u64,
    /// The bytes of memory that compiling a body may take per byte, beyond
    /// [`FREE_MEMORY`](Self::FREE_MEMORY).
    pub memory: u64,
    /// The pairs of a used local and a block that a body may have per byte, beyond
    /// [`FREE_LOCAL_BLOCKS`](Self::FREE_LOCAL_BLOCKS), before its locals are kept in memory. Zero
    /// always keeps them there.
    pub local_blocks: u64,
    /// The steps that the backtracking register allocator may take before the single-pass one is
    /// used. Zero always uses the single-pass one.
    pub backtracking: u64,
}

impl Limits {
    /// The units of work that are allowed whatever the size.
    pub const FREE_WORK: u64 = 1_000_000;
    /// The steps that a function may take whatever its size. All together may take four times as
    /// many.
    pub const FREE_STEPS: u64 = 400_000_000;
    /// The bytes of memory that a function may take whatever its size. Functions that are compiled
    /// at the same time share as much, unless one alone takes more.
    pub const FREE_MEMORY: u64 = 512 << 20;
    /// The pairs of a local and a block that a function may have in registers whatever its size.
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
