//! Parts of a function that become functions of their own.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dialect::lower::Pieces;

/// A part of a function that becomes a function of its own, after the fields
/// of the source.
#[derive(Debug)]
pub(crate) struct Closure {
    /// The instructions; an edit takes them away where they stood.
    pub range: Range<usize>,
    /// `(func ..`, up to its locals, which are added when the function is left.
    pub head: Pieces,
    pub locals: Pieces,
    /// What it does first.
    pub prologue: Pieces,
    /// What is wrong if it does not end with its results.
    pub note: String,
}

/// The closures of a function. One that is inside another comes after it.
#[derive(Debug, Default)]
pub(crate) struct Closures {
    all: Vec<Closure>,
    /// For each the one that it is inside of.
    outer: Vec<Option<usize>>,
    /// Their numbers by where they start.
    starts: BTreeMap<usize, usize>,
}

impl Closures {
    pub fn push(&mut self, closure: Closure) {
        let start = closure.range.start;
        self.outer.push(self.innermost(start));
        self.starts.insert(start, self.all.len());
        self.all.push(closure);
    }

    /// The innermost closure around a byte.
    pub fn around(&mut self, at: usize) -> Option<&mut Closure> {
        self.innermost(at).map(|number| &mut self.all[number])
    }

    /// What is around a byte is around the last start before it, too.
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
