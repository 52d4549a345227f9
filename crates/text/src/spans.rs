//! From a place of a binary to the source.

use crate::place::{Part, Place, Section};
use crate::scan;

/// Where the items of a module stand in its text.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    sections: [Items; Section::COUNT],
}

/// Where the items of a section stand.
#[derive(Debug, Default)]
struct Items {
    /// Where each item stands.
    spans: Vec<u32>,
    /// Where the steps of each item end in `steps`.
    ends: Vec<u32>,
    /// Where the steps of all items stand.
    steps: Vec<u32>,
}

impl Spans {
    /// Adds the next item of a section, and its steps.
    pub fn push(&mut self, section: Section, span: u32, steps: impl IntoIterator<Item = u32>) {
        let items = &mut self.sections[section as usize];
        items.steps.extend(steps);
        items.spans.push(span);
        items.ends.push(items.steps.len() as u32);
    }

    /// Where a place stands in `text`, from which the spans come.
    pub fn find(&self, text: &str, place: Place) -> Option<usize> {
        let items = &self.sections[place.section as usize];
        let span = *items.spans.get(place.item)? as usize;
        let step = match place.part {
            Part::Step(n) => items.steps_of(place.item).get(n).map(|&step| step as usize),
            Part::Whole | Part::Local(_) => None,
        };
        let part = step.or_else(|| match (place.section, place.part) {
            (Section::Function | Section::Import | Section::Tag, _) => scan::type_use(text, span),
            (Section::Export, _) => items.inline_export(text, place.item),
            (Section::Code, Part::Local(n)) => scan::local(text, span, n),
            // The `end` of the function.
            (Section::Code, Part::Step(_)) => scan::closing(text, span),
            _ => None,
        });
        Some(part.unwrap_or(span))
    }
}

impl Items {
    fn steps_of(&self, item: usize) -> &[u32] {
        let end = |item: usize| self.ends.get(item).map_or(0, |&end| end as usize);
        let start = item.checked_sub(1).map_or(0, end);
        &self.steps[start..end(item)]
    }

    /// Where an export is written inside the field that it exports. All
    /// exports inside a field have the span of the field.
    fn inline_export(&self, text: &str, item: usize) -> Option<usize> {
        let span = self.spans[item];
        let earlier = self.spans[..item].iter().filter(|&&other| other == span).count();
        scan::inline_export(text, span as usize, earlier)
    }
}
