//! Clause lists, and numbers for the different lists of a module.

use ropewalk_abi::stack::ClauseKind;
use std::collections::HashMap;
use std::hash::Hash;
use wasmparser::{Handle, ResumeTable};

/// The clauses of an instruction, in order: each a tag and what it handles.
pub(crate) type ClauseList = Vec<(u32, ClauseKind)>;

pub(crate) fn resume_clauses(table: &ResumeTable) -> ClauseList {
    let clause = |handle: &Handle| match *handle {
        Handle::OnLabel { tag, .. } => (tag, ClauseKind::Suspend),
        Handle::OnSwitch { tag } => (tag, ClauseKind::Switch),
    };
    table.handlers.iter().map(clause).collect()
}

/// The clauses for events, which are given with their labels.
pub(crate) fn event_clauses(events: &[(u32, u32)]) -> ClauseList {
    events.iter().map(|(tag, _)| (*tag, ClauseKind::Event)).collect()
}

/// A set of different items, each with a number.
#[derive(Debug)]
pub(crate) struct Numbered<T>(HashMap<T, u32>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered(HashMap::new())
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// Gives an item the next number, unless it has one.
    pub fn add(&mut self, item: T) {
        let next = self.0.len() as u32;
        self.0.entry(item).or_insert(next);
    }

    pub fn get(&self, item: &T) -> Option<u32> {
        self.0.get(item).copied()
    }

    pub fn in_order(&self) -> Vec<T> {
        let mut items: Vec<_> = self.0.iter().collect();
        items.sort_unstable_by_key(|(_, number)| **number);
        items.into_iter().map(|(item, _)| item.clone()).collect()
    }
}
