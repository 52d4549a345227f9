//! Statistics of the stacks of a store: how many there are, and their memory.

use super::Store;
use crate::stack::Stacks;
use ropewalk_abi::stack::Purpose;

/// The number of stacks of a store, other than roots, and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackStatistics {
    /// Stacks that are new, suspended, running or abandoned: the sum of the next three.
    pub live: usize,
    /// Stacks that run, or wait for a running one.
    pub running: usize,
    /// New or suspended stacks with memory of their own.
    pub suspended: usize,
    /// New or suspended stacks whose frames are packed, without memory of their own.
    pub parked: usize,
    /// The highest number of live stacks so far.
    pub peak: usize,
    /// Free stacks that wait to be used again.
    pub pooled: usize,
    /// The bytes of memory that they have.
    pub committed_bytes: usize,
    /// The bytes of address space that they have.
    pub reserved_bytes: usize,
    /// How many times a stack, including roots, has grown.
    pub growths: u64,
    /// How many times a stack was parked.
    pub parkings: u64,
}

impl Store {
    /// The statistics of all stacks other than roots.
    pub fn stack_statistics(&self) -> StackStatistics {
        let total = self.stacks.count_stacks();
        // Stacks that their owners have dropped count as free.
        let pooled = self.stacks.count_free(self.context().free_stacks) + self.count_released();
        let (reserved_bytes, committed_bytes) = self.stacks.reserved_and_committed();
        let live = total - pooled;
        let Stacks { parked, parkings, growths, .. } = self.stacks;
        let running = self.stacks_in_host_calls();
        let running = running.filter(|stack| stack.purpose != Purpose::Root).count();
        StackStatistics {
            live,
            running,
            suspended: live.saturating_sub(running + parked),
            parked,
            parkings,
            peak: self.stacks.peak(),
            pooled,
            committed_bytes,
            reserved_bytes,
            growths,
        }
    }
}
