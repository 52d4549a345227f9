//! Programs that may have so much memory.

use ropewalk::{ResourceLimiter, Result};

/// How many bytes an element of a table takes.
const ELEMENT: usize = 8;

/// How many bytes the linear memories and tables of a program may still grow by, all together.
pub(crate) struct TotalMemory {
    left: usize,
}

impl TotalMemory {
    pub(crate) fn new(bytes: u64) -> TotalMemory {
        TotalMemory { left: usize::try_from(bytes).unwrap_or(usize::MAX) }
    }

    /// Whether there are so many bytes left, which are then taken.
    fn take(&mut self, bytes: usize) -> bool {
        let rest = self.left.checked_sub(bytes);
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }
}

impl ResourceLimiter for TotalMemory {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        Ok(self.take(desired - current))
    }

    fn memory_grow_failed(&mut self, current: usize, desired: usize) {
        self.left += desired - current;
    }

    /// Nobody is told of a table that could not grow, so one that asks for more than its type
    /// allows is refused at once.
    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let is_allowed = maximum.is_none_or(|maximum| desired <= maximum);
        Ok(is_allowed && self.take((desired - current).saturating_mul(ELEMENT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_have_one_budget() {
        let mut total = TotalMemory::new(1000);
        assert!(total.memory_growing(0, 600, None).unwrap());
        assert!(!total.memory_growing(600, 1001, None).unwrap());
        assert!(total.table_growing(0, 50, None).unwrap());
        assert!(!total.table_growing(50, 51, None).unwrap());
        total.memory_grow_failed(0, 600);
        assert!(!total.table_growing(50, 60, Some(59)).unwrap());
        assert!(total.table_growing(50, 125, Some(125)).unwrap());
        assert!(!total.memory_growing(0, 1, None).unwrap());
        assert!(!total.table_growing(0, usize::MAX, None).unwrap());
    }
}
