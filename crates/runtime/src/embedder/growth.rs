//! Requests for growth that a store passes to its limiter.

use super::ResourceLimiter;
use super::limiter::{bytes, count};
use anyhow::Result;
use ropewalk_abi::{MemoryType, TableType};

/// A growth about which a limiter decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "what the fields mean is said at `ResourceLimiter`")]
pub enum Growth {
    /// The number of instances.
    Instances { from: usize, to: usize },
    /// The bytes of a memory.
    Memory { from: usize, to: usize, maximum: Option<usize> },
    /// The elements of a table.
    Table { from: usize, to: usize, maximum: Option<usize> },
    /// The number of stacks, and their total size.
    Stacks { from: usize, to: usize, bytes: usize },
    /// The size of all objects in the heap.
    Heap { from: usize, to: usize },
}

impl Growth {
    /// The growth of a memory, in pages.
    pub fn of_memory(ty: &MemoryType, from: u64, to: u64) -> Growth {
        Growth::Memory { from: bytes(from), to: bytes(to), maximum: ty.maximum.map(bytes) }
    }

    /// The growth of a table, in elements.
    pub fn of_table(ty: &TableType, from: u64, to: u64) -> Growth {
        Growth::Table { from: count(from), to: count(to), maximum: ty.maximum.map(count) }
    }

    /// Asks a limiter that decides at once.
    pub(super) fn ask(self, limiter: &mut dyn ResourceLimiter) -> Result<bool> {
        match self {
            Growth::Instances { .. } => Ok(true),
            Growth::Memory { from, to, maximum } => limiter.memory_growing(from, to, maximum),
            Growth::Table { from, to, maximum } => limiter.table_growing(from, to, maximum),
            Growth::Stacks { from, to, bytes } => Ok(limiter.stacks_growing(from, to, bytes)),
            Growth::Heap { from, to } => Ok(limiter.heap_growing(from, to)),
        }
    }

    /// Whether the decision about another growth decides this one too. If a larger growth is
    /// allowed, so is a smaller one.
    pub(super) fn is_answered_by(&self, other: &Growth, answer: bool) -> bool {
        let follows = |mine: &usize, others: &usize| match answer {
            true => mine <= others,
            false => mine >= others,
        };
        match (self, other) {
            (Growth::Heap { to, .. }, Growth::Heap { to: other, .. }) => follows(to, other),
            (
                Growth::Stacks { to, bytes, .. },
                Growth::Stacks { to: other, bytes: other_bytes, .. },
            ) => follows(to, other) && follows(bytes, other_bytes),
            _ => self == other,
        }
    }

    /// Whether a decision holds for one growth only.
    pub(super) fn is_used_once(&self) -> bool {
        !matches!(self, Growth::Heap { .. } | Growth::Stacks { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_much_may_have_less_and_who_may_not_have_little_may_not_have_more() {
        let heap = |to| Growth::Heap { from: 0, to };
        assert!(heap(5).is_answered_by(&heap(6), true));
        assert!(!heap(7).is_answered_by(&heap(6), true));
        assert!(heap(7).is_answered_by(&heap(6), false));
        assert!(!heap(5).is_answered_by(&heap(6), false));
        let stacks = |to, bytes| Growth::Stacks { from: 0, to, bytes };
        assert!(stacks(1, 5).is_answered_by(&stacks(2, 6), true));
        assert!(!stacks(1, 7).is_answered_by(&stacks(2, 6), true));
        assert!(stacks(3, 6).is_answered_by(&stacks(2, 6), false));
        assert!(!stacks(3, 5).is_answered_by(&stacks(2, 6), false));
        let memory = |from, to| Growth::Memory { from, to, maximum: None };
        assert!(memory(1, 2).is_answered_by(&memory(1, 2), true));
        assert!(!memory(1, 2).is_answered_by(&memory(1, 3), true));
        assert!(!memory(0, 2).is_answered_by(&heap(2), true));
    }
}
