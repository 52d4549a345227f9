//! How many stacks a store has, and how much memory they take.

use super::Store;
use crate::stack::Stacks;
use ropewalk_abi::stack::Purpose;

/// How many stacks, but roots, a store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackStatistics {
    /// How many belong to continuations that are new, suspended or running, or
    /// abandoned and not yet collected. They are the sum of those that run, those that
    /// are suspended, and those that are parked.
    pub live: usize,
    /// How many run, or wait for one that runs.
    pub running: usize,
    /// How many are new or suspended, and have memory of their own.
    pub suspended: usize,
    /// How many are new or suspended, and have given their memory up: their frames are
    /// packed.
    pub parked: usize,
    /// How many were live at the same time at most.
    pub peak: usize,
    /// How many wait to be used again.
    pub pooled: usize,
    /// How much memory they have.
    pub committed_bytes: usize,
    /// How much address space they have.
    pub reserved_bytes: usize,
    /// How often a stack, also a root, has got more room.
    pub growths: u64,
    /// How often one was parked.
    pub parkings: u64,
}

impl Store {
    /// How many stacks, but roots, there are.
    pub fn stack_statistics(&self) -> StackStatistics {
        let total = self.stacks.count_stacks();
        // What was dropped is as good as free.
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
