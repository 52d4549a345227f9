//! The operand stack.
//!
//! An instruction uses only the top of a deep stack. Code that keeps a list of operands asks how
//! many of them [have stayed](Operands::take_lowest) since the last time.

use cranelift_codegen::ir::Value;
use std::ops::{Deref, RangeTo};

/// The values on the operand stack, the topmost last.
#[derive(Default)]
pub(crate) struct Operands {
    values: Vec<Value>,
    /// The lowest height since the last call of `take_lowest`.
    lowest: usize,
}

impl Operands {
    pub(crate) fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    pub(crate) fn pop(&mut self) -> Option<Value> {
        let value = self.values.pop();
        self.note_height();
        value
    }

    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = Value>) {
        self.values.extend(values);
    }

    pub(crate) fn extend_from_slice(&mut self, values: &[Value]) {
        self.values.extend_from_slice(values);
    }

    pub(crate) fn truncate(&mut self, height: usize) {
        self.values.truncate(height);
        self.note_height();
    }

    /// Removes the operands above a height.
    pub(crate) fn split_off(&mut self, height: usize) -> Vec<Value> {
        let above = self.values.split_off(height);
        self.note_height();
        above
    }

    /// Removes the operands below a height.
    pub(super) fn take_below(&mut self, range: RangeTo<usize>) -> Vec<Value> {
        self.lowest = 0;
        self.values.drain(range).collect()
    }

    /// Inserts values below all others.
    pub(super) fn put_below(&mut self, values: Vec<Value>) {
        self.lowest = 0;
        self.values.splice(..0, values);
    }

    /// How many of the lowest operands have not changed since the last call.
    pub(super) fn take_lowest(&mut self) -> usize {
        std::mem::replace(&mut self.lowest, self.values.len())
    }

    fn note_height(&mut self) {
        self.lowest = self.lowest.min(self.values.len());
    }
}

impl Deref for Operands {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.values
    }
}
