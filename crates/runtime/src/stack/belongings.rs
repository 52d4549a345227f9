//! What stacks have beside their record: marks, and arguments that are bound to
//! them.
//!
//! They are kept by the number of the block, and move with the record when a
//! stack gets another block. The record says how many of each there are; what
//! lies after that is left over from another life of the block, and nobody
//! looks at it.

use crate::design::first_class::marks::Mark;
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{ControlBlock, RawVal};
use std::collections::HashMap;

/// The belongings of all stacks of a store.
#[derive(Debug, Default)]
pub(crate) struct Belongings {
    /// By number, as far as any stack has had marks.
    marks: Vec<Vec<Mark>>,
    bound: HashMap<usize, Vec<BoundValue>>,
}

/// An argument that is bound to a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundValue {
    pub value: RawVal,
    /// What it is.
    pub class: ValueClass,
    /// Whether the collector follows it.
    pub is_collected: bool,
}

impl Belongings {
    /// The marks of a stack that is not running, as many as its record says and
    /// as belong to functions that it is still in.
    pub fn marks(&mut self, number: usize, stack: &mut ControlBlock) -> &mut Vec<Mark> {
        if self.marks.len() <= number {
            self.marks.resize_with(number + 1, Vec::new);
        }
        let marks = &mut self.marks[number];
        marks.truncate(stack.marks.into());
        // Where an exception has landed, the address to continue at is not on the
        // stack; else it is.
        let depth = stack.high - stack.sp + size_of::<usize>();
        let left = marks.iter().rposition(|mark| mark.depth <= depth).map_or(0, |last| last + 1);
        marks.truncate(left);
        stack.marks = left as u16;
        marks
    }

    /// The marks of a stack for the collector, as many as its record says: whether a
    /// function that has left one is still there does not matter, so that nobody sees
    /// from the number whether there was a collection.
    pub fn counted_marks(&mut self, number: usize, count: usize) -> &mut [Mark] {
        self.marks.get_mut(number).map_or(&mut [], |marks| &mut marks[..count])
    }

    /// All marks of a block, with what is left over from other lives of it.
    pub fn all_marks(&self, number: usize) -> &[Mark] {
        self.marks.get(number).map_or(&[], Vec::as_slice)
    }

    /// Adds values to those that are bound to a stack.
    pub fn bind(&mut self, number: usize, values: impl IntoIterator<Item = BoundValue>) {
        self.bound.entry(number).or_default().extend(values);
    }

    /// The values that are bound to a stack, which has none then.
    pub fn take_bound(&mut self, number: usize) -> Vec<BoundValue> {
        self.bound.remove(&number).unwrap_or_default()
    }

    /// The values that are bound to a stack, for the collector.
    pub fn bound(&mut self, number: usize) -> &mut [BoundValue] {
        self.bound.get_mut(&number).map_or(&mut [], Vec::as_mut_slice)
    }

    /// How many values are bound to a stack.
    pub fn count_bound(&self, number: usize) -> usize {
        self.bound.get(&number).map_or(0, Vec::len)
    }

    /// Hands what is bound, and the marks too, over from one block to another.
    pub fn hand_over(&mut self, from: usize, to: usize, marks_too: bool) {
        if let Some(bound) = self.bound.remove(&from) {
            self.bound.insert(to, bound);
        }
        if marks_too && from.max(to) < self.marks.len() {
            self.marks.swap(from, to);
        } else if marks_too && from < self.marks.len() {
            self.marks.resize_with(to + 1, Vec::new);
            self.marks.swap(from, to);
        }
        self.forget(from);
    }

    /// Forgets what a stack had that is free now.
    pub fn forget(&mut self, number: usize) {
        self.bound.remove(&number);
        if let Some(marks) = self.marks.get_mut(number) {
            marks.clear();
        }
    }
}
