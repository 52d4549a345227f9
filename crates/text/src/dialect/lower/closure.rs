//! Parts of a function that become functions of their own.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dialect::lower::Pieces;

/// A part of a function that becomes a separate function after the fields of the source.
#[derive(Debug)]
pub(crate) struct Closure {
    /// The instructions, which an edit removes from the source.
    pub range: Range<usize>,
    /// `(func ..` up to its locals, which are added at the end of the outer function.
    pub head: Pieces,
    pub locals: Pieces,
    pub prologue: Pieces,
    /// The message for a body that does not end with the results.
    pub note: String,
}

/// The closures of a function. An inner closure comes after its outer one.
#[derive(Debug, Default)]
pub(crate) struct Closures {
    all: Vec<Closure>,
    /// The outer closure of each.
    outer: Vec<Option<usize>>,
    /// Their indices, by start.
    starts: BTreeMap<usize, usize>,
}

impl Closures {
    pub fn push(&mut self, closure: Closure) {
        let start = closure.range.start;
        self.outer.push(self.innermost(start));
        self.starts.insert(start, self.all.len());
        self.all.push(closure);
    }

    pub fn around(&mut self, at: usize) -> Option<&mut Closure> {
        self.innermost(at).map(|number| &mut self.all[number])
    }

    /// Closures around a byte are also around the last start before it.
    fn innermost(&self, at: usize) -> Option<usize> {
        let last = self.starts.range(..=at).next_back().map(|(_, &number)| number);
        let mut outward = std::iter::successors(last, |&number| self.outer[number]);
        outward.find(|&number| self.all[number].range.contains(&at))
    }
}

impl IntoIterator for Closures {
    type Item = Closure;
    type IntoIter = std::vec::IntoIter<Closure>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}
