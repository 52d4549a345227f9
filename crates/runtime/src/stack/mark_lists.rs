//! The marks of each stack, by block number.
//!
//! Marks move along when a stack gets another block. The block holds their count. Entries beyond
//! the count are left over from an earlier life of the block, and are ignored.

use super::saved_position::SavedPosition;
use crate::stack::walk_mark::Mark;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::TryReserveError;

/// The marks of all stacks of a store, up to the highest block that ever had any.
#[derive(Debug, Default)]
pub(crate) struct MarkLists {
    lists: Vec<Vec<Mark>>,
    bytes: usize,
}

/// The least capacity of a list.
const FIRST: usize = 4;
/// The capacity that a list keeps when its stack is freed.
const KEPT: usize = 16;

impl MarkLists {
    /// The marks of a stack that is not running. Removes those whose functions have returned.
    pub fn of(&mut self, number: usize, stack: &mut ControlBlock) -> &mut [Mark] {
        let Some(marks) = self.lists.get_mut(number) else {
            debug_assert_eq!(stack.marks, 0, "its marks are in a list");
            return &mut [];
        };
        marks.truncate(stack.marks.into());
        // Where an exception has landed, the address to continue at is not on the stack. Otherwise
        // it is.
        // SAFETY: the stack is in use and is not running.
        let depth = unsafe { SavedPosition::depth(stack) } + size_of::<usize>();
        let left = marks.iter().rposition(|mark| mark.depth <= depth).map_or(0, |last| last + 1);
        marks.truncate(left);
        stack.marks = left as u16;
        marks
    }

    /// Makes room for the lists of `count` blocks, if any block has marks.
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        match self.lists.is_empty() {
            true => Ok(()),
            false => self.lists.try_reserve(count.saturating_sub(self.lists.len())),
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How much `bytes` grows when one mark is added to a stack.
    pub fn needed_for_one_more(&self, number: usize) -> usize {
        let list = self.lists.get(number).map_or(&[][..], |marks| marks);
        let capacity = self.lists.get(number).map_or(0, Vec::capacity);
        match list.len() < capacity {
            true => 0,
            false => capacity.max(FIRST) * size_of::<Mark>(),
        }
    }

    pub fn make_room(&mut self, number: usize) -> Result<(), TrapCode> {
        let list = self.list_with_room(number, 1).map_err(|_| TrapCode::OutOfMemory)?;
        debug_assert!(list.len() < list.capacity());
        Ok(())
    }

    /// Leaves a mark on a stack, for which there is [room](Self::make_room).
    pub fn push(&mut self, number: usize, mark: Mark) {
        self.lists[number].push(mark);
    }

    /// The list of a stack, with room for `more` marks.
    fn list_with_room(
        &mut self,
        number: usize,
        more: usize,
    ) -> Result<&mut Vec<Mark>, TryReserveError> {
        let missing = (number + 1).saturating_sub(self.lists.len());
        self.lists.try_reserve(missing)?;
        self.lists.resize_with(self.lists.len().max(number + 1), Vec::new);
        let list = &mut self.lists[number];
        let before = list.capacity();
        list.try_reserve(more)?;
        self.bytes += (list.capacity() - before) * size_of::<Mark>();
        Ok(list)
    }

    /// The marks of a stack for the collector, as many as its block counts. This includes marks
    /// whose functions have returned, so that a collection never changes the count.
    pub fn counted(&mut self, number: usize, count: usize) -> &mut [Mark] {
        self.lists.get_mut(number).map_or(&mut [], |marks| &mut marks[..count])
    }

    /// Copies the first marks of a stack to another that has none. Returns the copies.
    pub fn copy(
        &mut self,
        from: usize,
        to: usize,
        count: usize,
    ) -> Result<&mut [Mark], TryReserveError> {
        self.forget(to);
        self.list_with_room(to, count)?;
        let [from, to] = self.lists.get_disjoint_mut([from, to]).expect("two blocks");
        to.extend_from_slice(&from[..count]);
        Ok(to)
    }

    /// All marks of a block, with those of its earlier lives.
    pub fn all(&self, number: usize) -> &[Mark] {
        self.lists.get(number).map_or(&[], Vec::as_slice)
    }

    pub fn restore(&mut self, number: usize, marks: Vec<Mark>) -> Result<(), TryReserveError> {
        self.list_with_room(number, marks.len())?.extend(marks);
        Ok(())
    }

    /// Moves the marks from one block to another. There must be [room](Self::make_room_for_blocks).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if from >= self.lists.len() {
            return;
        }
        self.lists.resize_with(self.lists.len().max(to + 1), Vec::new);
        self.lists.swap(from, to);
        self.forget(from);
    }

    pub fn forget(&mut self, number: usize) {
        let Some(marks) = self.lists.get_mut(number) else { return };
        marks.clear();
        if marks.capacity() > KEPT {
            self.bytes -= marks.capacity() * size_of::<Mark>();
            *marks = Vec::new();
        }
    }
}
