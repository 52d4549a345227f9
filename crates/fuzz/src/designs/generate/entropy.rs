//! Bytes as choices.
//!
//! The bytes of a case are read in records. Each operation that is written uses
//! one record, whatever it needs of it, so that leaving a record out leaves one
//! operation out. A record of zeros ends a block.

use crate::seeds::Random;
use arbitrary::Unstructured;

/// How many bytes a record has.
pub const RECORD: usize = 8;

/// The records that are left.
pub struct Entropy<'e>(Unstructured<'e>);

impl<'e> Entropy<'e> {
    /// All records of a case.
    pub fn new(bytes: &'e [u8]) -> Entropy<'e> {
        Entropy(Unstructured::new(bytes))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The choices of the next record.
    pub fn record(&mut self) -> Choice {
        let mut bytes = [0; RECORD];
        // What is missing counts as zero.
        let _ = self.0.fill_buffer(&mut bytes);
        Choice { first: bytes[0], random: Random::new(u64::from_le_bytes(bytes)) }
    }
}

/// How many bytes a short record has.
const SHORT: usize = 2;

impl Entropy<'_> {
    /// The choices of a short record.
    pub fn short(&mut self) -> Choice {
        let mut bytes = [0; SHORT];
        let _ = self.0.fill_buffer(&mut bytes);
        Choice { first: bytes[0], random: Random::new(u64::from(u16::from_le_bytes(bytes))) }
    }
}

impl Choice {
    /// The choices that a number stands for.
    pub fn of(number: u64) -> Choice {
        Choice { first: 0, random: Random::new(number) }
    }
}

/// The choices for one operation.
#[derive(Clone, Debug)]
pub struct Choice {
    /// A byte of the case itself: what sort of operation it is.
    pub first: u8,
    random: Random,
}

impl Choice {
    /// A number below a bound; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound.max(1) as u64) as usize
    }

    /// True in this many of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn one<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}
