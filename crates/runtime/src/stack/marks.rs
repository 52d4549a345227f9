//! The marks of stacks, which are kept beside their records.
//!
//! They are kept by the number of the block, and move with the record when a
//! stack gets another block. The record says how many there are; what lies after
//! that is left over from another life of the block, and nobody looks at it.

use super::left::LeftAt;
use crate::design::first_class::marks::Mark;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::collections::TryReserveError;

/// The marks of all stacks of a store, by the number of the block, as far as any
/// stack has had some.
#[derive(Debug, Default)]
pub(crate) struct MarkLists(Vec<Vec<Mark>>);

impl MarkLists {
    /// The marks of a stack that is not running, as many as its record says and
    /// as belong to functions that it is still in.
    pub fn of(&mut self, number: usize, stack: &mut ControlBlock) -> &mut Vec<Mark> {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        let marks = &mut self.0[number];
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
        if number < self.0.len() {
            self.of(number, stack);
        }
    }

    /// Makes room for the lists of so many blocks, if any has marks.
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        match self.0.is_empty() {
            true => Ok(()),
            false => self.0.try_reserve(count.saturating_sub(self.0.len())),
        }
    }

    /// Makes room for one mark more of a stack.
    pub fn make_room(&mut self, number: usize) -> Result<(), TrapCode> {
        let missing = (number + 1).saturating_sub(self.0.len());
        let lists = self.0.try_reserve(missing);
        lists.map_err(|_| TrapCode::OutOfMemory)?;
        self.0.resize_with(self.0.len().max(number + 1), Vec::new);
        self.0[number].try_reserve(1).map_err(|_| TrapCode::OutOfMemory)
    }

    /// The marks of a stack for the collector, as many as its record says: whether a
    /// function that has left one is still there does not matter, so that nobody sees
    /// from the number whether there was a collection.
    pub fn counted(&mut self, number: usize, count: usize) -> &mut [Mark] {
        self.0.get_mut(number).map_or(&mut [], |marks| &mut marks[..count])
    }

    /// Copies the marks of a stack, this many, to those of another, which has none; returns
    /// them.
    pub fn copy(
        &mut self,
        from: usize,
        to: usize,
        count: usize,
    ) -> Result<&mut [Mark], TryReserveError> {
        let missing = (to + 1).saturating_sub(self.0.len());
        self.0.try_reserve(missing)?;
        self.0.resize_with(self.0.len().max(to + 1), Vec::new);
        let mut marks = std::mem::take(&mut self.0[to]);
        marks.clear();
        marks.try_reserve(count)?;
        marks.extend_from_slice(&self.0[from][..count]);
        self.0[to] = marks;
        Ok(&mut self.0[to])
    }

    /// All marks of a block, with what is left over from other lives of it.
    pub fn all(&self, number: usize) -> &[Mark] {
        self.0.get(number).map_or(&[], Vec::as_slice)
    }

    /// Gives a stack marks.
    pub fn restore(&mut self, number: usize, marks: Vec<Mark>) {
        self.0.resize_with(self.0.len().max(number + 1), Vec::new);
        self.0[number] = marks;
    }

    /// Hands the marks over from one block to another. There must be
    /// [room](Self::make_room_for_blocks).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if from >= self.0.len() {
            return;
        }
        self.0.resize_with(self.0.len().max(to + 1), Vec::new);
        self.0.swap(from, to);
        self.forget(from);
    }

    /// Forgets the marks of a stack that is free now.
    pub fn forget(&mut self, number: usize) {
        if let Some(marks) = self.0.get_mut(number) {
            marks.clear();
        }
    }
}
