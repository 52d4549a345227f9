//! Writing objects down, and the elements of tables.

use super::ranges::Ranges;
use super::sections::Section;
use super::take::Writer;
use crate::heap::Object;
use crate::map::PAGE;
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::heap::{ARRAY_ELEMENTS, EXCEPTION_TAG};
use ropewalk_abi::{CompositeType, StorageType, TypeKind, ValType};
use std::ops::Range;

/// How many bytes a reference has.
const WORD: usize = size_of::<u64>();

impl Writer<'_> {
    /// Parts of the heap, with numbers of types as the first words of objects.
    pub fn heap(&mut self, parts: &Ranges) -> Result<Section<'static>> {
        let len = (self.objects.end - self.objects.start) as usize;
        let mut section = Section { len, ..Section::default() };
        for part in parts.iter() {
            let mut bytes = Vec::with_capacity(part.len());
            let mut at = self.first_object(part.start);
            while at < part.end {
                // SAFETY: objects lie one after another, and nothing runs.
                let object = unsafe { Object::from_reference(self.objects.start + at as u64) };
                let object = object.expect("objects are aligned");
                let end = at + object.size();
                self.note_first(at, end);
                let within = part.start.max(at) - at..part.end.min(end) - at;
                self.object(object, within, &mut bytes)?;
                at = end;
            }
            section.put(part.start, &bytes);
        }
        Ok(section)
    }

    /// Where the object begins that lies at a place, or one before it.
    fn first_object(&self, place: usize) -> usize {
        let firsts = &self.since.first_objects;
        let page = (place / PAGE).min(firsts.len().saturating_sub(1));
        firsts.get(page).copied().unwrap_or(0)
    }

    /// Notes the object that lies from one place to another for the pages that begin there.
    fn note_first(&mut self, start: usize, end: usize) {
        let firsts = &mut self.since.first_objects;
        while firsts.len() * PAGE < end {
            firsts.push(start);
        }
    }

    /// Writes a part of an object.
    fn object(&mut self, object: Object, within: Range<usize>, bytes: &mut Vec<u8>) -> Result<()> {
        if within.is_empty() {
            return Ok(());
        }
        let begin = bytes.len();
        let start = object.reference() as usize + within.start;
        // SAFETY: the object is as long as it says, and nobody else looks at it now.
        let part = unsafe { std::slice::from_raw_parts(start as *const u8, within.len()) };
        bytes.extend_from_slice(part);
        let place = |at: usize| begin + at - within.start;
        if within.contains(&0) {
            let number = self.number_of_type(object)?;
            put(bytes, place(0), number.into());
        }
        for at in places_of_references(self.symbols.store(), object, within.clone()) {
            let word = get(bytes, place(at));
            put(bytes, place(at), self.reference(word)?);
        }
        if object.ty().kind == TypeKind::Func && within.contains(&(EXCEPTION_TAG as usize)) {
            let tag = self.symbols.tag(object.tag())? as u64;
            put(bytes, place(EXCEPTION_TAG as usize), tag);
        }
        Ok(())
    }

    fn number_of_type(&mut self, object: Object) -> Result<u32> {
        let name = self.symbols.known_type(object.ty())?;
        let types = &mut self.since.types;
        Ok(*self.types.entry(name).or_insert_with(|| {
            types.push(name);
            types.len() as u32 - 1
        }))
    }

    /// Parts of the elements of a table.
    pub fn elements(&mut self, elements: &[u64], parts: &Ranges) -> Result<Section<'static>> {
        let mut section = Section { len: size_of_val(elements), ..Section::default() };
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

/// Where in a part of an object references of any kind are, functions too.
pub(super) fn places_of_references(
    store: &Store,
    object: Object,
    within: Range<usize>,
) -> Vec<usize> {
    let ty = object.ty();
    if ty.kind == TypeKind::Extern {
        return Vec::new();
    }
    let registered = store.options.types.get(ty.id);
    let is_reference = |storage: &StorageType| matches!(storage, StorageType::Val(ValType::Ref(_)));
    let offsets = registered.layout().offsets.iter().map(|offset| *offset as usize);
    let is_within = |at: &usize| within.contains(at);
    match &registered.ty().composite {
        CompositeType::Struct(ty) => {
            let fields = ty.fields.iter().zip(offsets);
            let references = fields.filter(|(f, _)| is_reference(&f.storage)).map(|(_, at)| at);
            references.filter(is_within).collect()
        }
        CompositeType::Func(ty) => {
            let values = ty.params().iter().zip(offsets);
            let references = values.filter(|(ty, _)| matches!(ty, ValType::Ref(_)));
            references.map(|(_, at)| at).filter(is_within).collect()
        }
        CompositeType::Array(array) if is_reference(&array.element.storage) => {
            let first = ARRAY_ELEMENTS as usize;
            let end = first + object.len() as usize * WORD;
            let from = first.max(within.start.next_multiple_of(WORD));
            (from..end.min(within.end)).step_by(WORD).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}
