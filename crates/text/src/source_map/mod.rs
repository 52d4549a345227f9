//! From an offset of a binary to an offset of the source.

mod collect;
mod locate;
mod location;

use std::collections::BTreeMap;

use location::{LocationPart, Section};

pub(crate) use collect::collect;
pub(crate) use locate::locate;
pub(crate) use location::BinaryLocation;

use crate::syntax::field_parts;

/// The offsets of the items of a module in its text.
#[derive(Debug, Default)]
pub(crate) struct SourceMap {
    sections: [Items; Section::COUNT],
}

#[derive(Debug, Default)]
struct Items {
    /// The offset of each item.
    spans: Vec<u32>,
    /// The end of each item's steps in `steps`.
    ends: Vec<u32>,
    /// The offsets of the steps of all items.
    steps: Vec<u32>,
    /// The offsets of the clauses of a step, by the index of the step in `steps`.
    clauses: BTreeMap<usize, Vec<u32>>,
}

impl SourceMap {
    /// Adds the next item of a section, and its steps.
    pub fn push(&mut self, section: Section, span: u32, steps: impl IntoIterator<Item = u32>) {
        let items = &mut self.sections[section as usize];
        items.steps.extend(steps);
        items.spans.push(span);
        items.ends.push(items.steps.len() as u32);
    }

    /// Adds the clauses of a step of the last item of a section.
    pub fn push_clauses(&mut self, section: Section, step: usize, clauses: Vec<u32>) {
        let items = &mut self.sections[section as usize];
        let start = items.ends.iter().rev().nth(1).map_or(0, |&end| end as usize);
        items.clauses.insert(start + step, clauses);
    }

    /// The offset of a location in `text`, from which the map was collected.
    pub fn find(&self, text: &str, place: BinaryLocation) -> Option<usize> {
        let items = &self.sections[place.section as usize];
        let span = *items.spans.get(place.item)? as usize;
        let step = match place.part {
            LocationPart::Step(n) => items.steps_of(place.item).get(n).copied(),
            LocationPart::Clause { step, clause } => items.clause(place.item, step, clause),
            LocationPart::Whole | LocationPart::Local(_) => None,
        };
        let step = step.map(|step| step as usize);
        let part = step.or_else(|| match (place.section, place.part) {
            (Section::Function | Section::Import | Section::Tag, _) => {
                field_parts::type_use(text, span)
            }
            (Section::Export, _) => items.inline_export(text, place.item),
            (Section::Code, LocationPart::Local(n)) => field_parts::local(text, span, n),
            // The `end` of the function.
            (Section::Code, LocationPart::Step(_)) => field_parts::closing(text, span),
            _ => None,
        });
        Some(part.unwrap_or(span))
    }
}

impl Items {
    fn steps_of(&self, item: usize) -> &[u32] {
        &self.steps[self.first_step(item)..self.first_step(item + 1)]
    }

    /// The index in `steps` of an item's first step.
    fn first_step(&self, item: usize) -> usize {
        let before = item.checked_sub(1).and_then(|item| self.ends.get(item));
        before.map_or(0, |&end| end as usize)
    }

    /// The offset of a clause, or else of its step.
    fn clause(&self, item: usize, step: usize, clause: usize) -> Option<u32> {
        let number = self.first_step(item) + step;
        let clauses = self.clauses.get(&number);
        let found = clauses.and_then(|clauses| clauses.get(clause));
        found.or_else(|| self.steps_of(item).get(step)).copied()
    }

    /// The offset of an export inside the field that it exports. All exports inside a field have
    /// the span of the field.
    fn inline_export(&self, text: &str, item: usize) -> Option<usize> {
        let span = self.spans[item];
        let earlier = self.spans[..item].iter().filter(|&&other| other == span).count();
        field_parts::inline_export(text, span as usize, earlier)
    }
}
