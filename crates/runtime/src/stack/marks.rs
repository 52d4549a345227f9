//! The marks of stacks, which are kept beside their records.
//!
//! They are kept by the number of the block, and move with the record when a
//! stack gets another block. The record says how many there are; what lies after
//! that is left over from another life of the block, and nobody looks at it.

use super::left::LeftAt;
use crate::stack::mark::Mark;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::TryReserveError;

/// The marks of all stacks of a store, by the number of the block, as far as any
/// stack has had some.
#[derive(Debug, Default)]
pub(crate) struct MarkLists {
    lists: Vec<Vec<Mark>>,
    /// How many bytes all marks have, with room for more.
    bytes: usize,
}

/// How many marks there is room for at least where there are any.
const FIRST: usize = 4;
/// For how many marks the room stays when a stack is freed.
const KEPT: usize = 16;

impl MarkLists {
    /// The marks of a stack that is not running, as many as its record says and
    /// as belong to functions that it is still in.
    pub fn of(&mut self, number: usize, stack: &mut ControlBlock) -> &mut [Mark] {
        let Some(marks) = self.lists.get_mut(number) else {
            debug_assert_eq!(stack.marks, 0, "its marks are in a list");
            return &mut [];
        };
        marks.truncate(stack.marks.into());
        // Where an exception has landed, the address to continue at is not on the
        // stack; else it is.
        // SAFETY: the stack is in use and does not run.
        let depth = unsafe { LeftAt::depth(stack) } + size_of::<usize>();
        let left = marks.iter().rposition(|mark| mark.depth <= depth).map_or(0, |last| last + 1);
        marks.truncate(left);
        stack.marks = left as u16;
        marks
    }

    /// Removes the marks of functions that a stack is not in any more. It needs no memory.
    pub fn settle(&mut self, number: usize, stack: &mut ControlBlock) {
        self.of(number, stack);
    }

    /// Makes room for the lists of so many blocks, if any has marks.
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        match self.lists.is_empty() {
            true => Ok(()),
            false => self.lists.try_reserve(count.saturating_sub(self.lists.len())),
        }
    }

    /// How many bytes all marks have, with room for more.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes more they have after room was made for one mark more of a stack.
    pub fn needed_for_one_more(&self, number: usize) -> usize {
        let list = self.lists.get(number).map_or(&[][..], |marks| marks);
        let capacity = self.lists.get(number).map_or(0, Vec::capacity);
        match list.len() < capacity {
            true => 0,
            false => capacity.max(FIRST) * size_of::<Mark>(),
        }
    }

    /// Makes room for one mark more of a stack.
    pub fn make_room(&mut self, number: usize) -> Result<(), TrapCode> {
        let list = self.list_with_room(number, 1).map_err(|_| TrapCode::OutOfMemory)?;
        debug_assert!(list.len() < list.capacity());
        Ok(())
    }

    /// Leaves a mark on a stack, for which there is [room](Self::make_room).
    pub fn push(&mut self, number: usize, mark: Mark) {
        self.lists[number].push(mark);
    }

    /// The list of a stack, with room for so many marks more.
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

    /// The marks of a stack for the collector, as many as its record says: whether a
    /// function that has left one is still there does not matter, so that nobody sees
    /// from the number whether there was a collection.
    pub fn counted(&mut self, number: usize, count: usize) -> &mut [Mark] {
        self.lists.get_mut(number).map_or(&mut [], |marks| &mut marks[..count])
    }

    /// Copies the marks of a stack, this many, to those of another, which has none; returns
    /// them.
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

    /// All marks of a block, with what is left over from other lives of it.
    pub fn all(&self, number: usize) -> &[Mark] {
        self.lists.get(number).map_or(&[], Vec::as_slice)
    }

    /// Gives a stack marks, which has none.
    pub fn restore(&mut self, number: usize, marks: Vec<Mark>) -> Result<(), TryReserveError> {
        self.list_with_room(number, marks.len())?.extend(marks);
        Ok(())
    }

    /// Hands the marks over from one block to another. There must be
    /// [room](Self::make_room_for_blocks).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if from >= self.lists.len() {
            return;
        }
        self.lists.resize_with(self.lists.len().max(to + 1), Vec::new);
        self.lists.swap(from, to);
        self.forget(from);
    }

    /// Forgets the marks of a stack that is free now.
    pub fn forget(&mut self, number: usize) {
        let Some(marks) = self.lists.get_mut(number) else { return };
        marks.clear();
        if marks.capacity() > KEPT {
            self.bytes -= marks.capacity() * size_of::<Mark>();
            *marks = Vec::new();
        }
    }
}
