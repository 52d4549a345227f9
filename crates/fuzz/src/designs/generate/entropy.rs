//! Turns bytes into choices.
//!
//! The bytes of a case are read in records. Each generated operation uses one record, so removing a
//! record removes one operation. A record of zeros ends a block.

use crate::seeds::Random;
use arbitrary::Unstructured;

/// The size of a record.
pub const RECORD: usize = 8;

/// The remaining records.
pub struct Entropy<'e>(Unstructured<'e>);

impl<'e> Entropy<'e> {
    pub fn new(bytes: &'e [u8]) -> Entropy<'e> {
        Entropy(Unstructured::new(bytes))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn record(&mut self) -> Choice {
        let mut bytes = [0; RECORD];
        // Missing bytes are zero.
        let _ = self.0.fill_buffer(&mut bytes);
        Choice { first: bytes[0], random: Random::new(u64::from_le_bytes(bytes)) }
    }
}

/// The size of a short record.
const SHORT: usize = 2;

impl Entropy<'_> {
    pub fn short(&mut self) -> Choice {
        let mut bytes = [0; SHORT];
        let _ = self.0.fill_buffer(&mut bytes);
        Choice { first: bytes[0], random: Random::new(u64::from(u16::from_le_bytes(bytes))) }
    }
}

impl Choice {
    /// The choices that follow from a number.
    pub fn of(number: u64) -> Choice {
        Choice { first: 0, random: Random::new(number) }
    }
}

/// The choices for one operation.
#[derive(Clone, Debug)]
pub struct Choice {
    /// A byte of the case, which chooses the sort of operation.
    pub first: u8,
    random: Random,
}

impl Choice {
    /// A number below a bound, or 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound.max(1) as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn one<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}
