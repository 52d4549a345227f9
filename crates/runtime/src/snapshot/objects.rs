//! Saving the objects of the heap, and the elements of tables.

use super::layouts::WORD;
use super::ranges::Ranges;
use super::section::Section;
use super::take::Writer;
use crate::heap::Object;
use crate::os::mapping::PAGE;
use anyhow::Result;
use ropewalk_abi::TypeKind;
use ropewalk_abi::heap::EXCEPTION_TAG;
use std::ops::Range;

impl Writer<'_> {
    /// Saves parts of the heap. The first word of an object becomes the number of its type.
    pub fn heap(&mut self, parts: &Ranges) -> Result<Section<'static>> {
        let len = (self.objects.end - self.objects.start) as usize;
        let mut section = Section::of_len(len);
        for part in parts.iter() {
            let mut bytes = Vec::with_capacity(part.len());
            let mut at = self.first_object(part.start);
            while at < part.end {
                // SAFETY: objects lie one after another, and nothing runs.
                let object = unsafe { Object::from_reference(self.objects.start + at as u64) };
                let object = object.expect("objects are aligned");
                let end = at + object.size();
                note_first(&mut self.tracking.first_objects, at, end);
                let within = part.start.max(at) - at..part.end.min(end) - at;
                self.object(object, within, &mut bytes)?;
                at = end;
            }
            section.put(part.start, &bytes);
        }
        Ok(section)
    }

    /// The start of the object at an offset, or of an earlier one.
    fn first_object(&self, place: usize) -> usize {
        let firsts = &self.tracking.first_objects;
        let page = (place / PAGE).min(firsts.len().saturating_sub(1));
        firsts.get(page).copied().unwrap_or(0)
    }

    /// Saves a part of an object.
    fn object(&mut self, object: Object, within: Range<usize>, bytes: &mut Vec<u8>) -> Result<()> {
        if within.is_empty() {
            return Ok(());
        }
        let begin = bytes.len();
        let start = object.reference() as usize + within.start;
        // SAFETY: the object is as long as it says, and nothing else accesses it now.
        let part = unsafe { std::slice::from_raw_parts(start as *const u8, within.len()) };
        bytes.extend_from_slice(part);
        let place = |at: usize| begin + at - within.start;
        if within.contains(&0) {
            let number = self.number_of_type(object)?;
            put(bytes, place(0), number.into());
        }
        let references = self.layouts.of(self.symbols.store(), object.ty());
        references.visit(object, &within, |at| {
            let word = self.reference(get(bytes, place(at)))?;
            put(bytes, place(at), word);
            Ok(())
        })?;
        if object.ty().kind == TypeKind::Func && within.contains(&(EXCEPTION_TAG as usize)) {
            let tag = self.symbols.tag(object.tag())? as u64;
            put(bytes, place(EXCEPTION_TAG as usize), tag);
        }
        Ok(())
    }

    fn number_of_type(&mut self, object: Object) -> Result<u32> {
        let name = self.symbols.known_type(object.ty())?;
        let types = &mut self.tracking.types;
        Ok(*self.types.entry(name).or_insert_with(|| {
            types.push(name);
            types.len() as u32 - 1
        }))
    }

    /// Saves parts of the elements of a table.
    pub fn elements(&mut self, elements: &[u64], parts: &Ranges) -> Result<Section<'static>> {
        let mut section = Section::of_len(size_of_val(elements));
        for part in parts.iter() {
            let mut bytes = Vec::with_capacity(part.len());
            for word in &elements[part.start / WORD..part.end.div_ceil(WORD)] {
                bytes.extend_from_slice(&self.reference(*word)?.to_le_bytes());
            }
            section.put(part.start / WORD * WORD, &bytes);
        }
        Ok(section)
    }
}

/// Adds an object as the first one of each page that begins in it.
pub(super) fn note_first(firsts: &mut Vec<usize>, start: usize, end: usize) {
    while firsts.len() * PAGE < end {
        firsts.push(start);
    }
}

pub(super) fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}
