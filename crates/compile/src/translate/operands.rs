//! The operand stack.
//!
//! Of a deep one, an instruction looks only at what is on top. Who keeps a list of some of
//! the operands asks how much of it [has stayed](Operands::take_lowest) since.

use cranelift_codegen::ir::Value;
use std::ops::{Deref, RangeTo};

/// The values that are on the operand stack, the topmost last.
#[derive(Default)]
pub(crate) struct Operands {
    values: Vec<Value>,
    /// How few there were at some time since that was asked.
    lowest: usize,
}

impl Operands {
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    pub fn pop(&mut self) -> Option<Value> {
        let value = self.values.pop();
        self.has_fallen();
        value
    }

    pub fn extend(&mut self, values: impl IntoIterator<Item = Value>) {
        self.values.extend(values);
    }

    pub fn extend_from_slice(&mut self, values: &[Value]) {
        self.values.extend_from_slice(values);
    }

    pub fn truncate(&mut self, height: usize) {
        self.values.truncate(height);
        self.has_fallen();
    }

    /// Takes off what lies above a height.
    pub fn split_off(&mut self, height: usize) -> Vec<Value> {
        let above = self.values.split_off(height);
        self.has_fallen();
        above
    }

    /// Takes out what lies below a height.
    pub fn take_below(&mut self, range: RangeTo<usize>) -> Vec<Value> {
        self.lowest = 0;
        self.values.drain(range).collect()
    }

    /// Puts values below all others.
    pub fn put_below(&mut self, values: Vec<Value>) {
        self.lowest = 0;
        self.values.splice(..0, values);
    }

    /// How many of the operands are the same as when this was called the last time.
    pub fn take_lowest(&mut self) -> usize {
        std::mem::replace(&mut self.lowest, self.values.len())
    }

    fn has_fallen(&mut self) {
        self.lowest = self.lowest.min(self.values.len());
    }
}

impl Deref for Operands {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.values
    }
}
