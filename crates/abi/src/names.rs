//! Names of functions, in memory or in a file.

use bytemuck::{Pod, Zeroable};
use std::fmt;
use std::sync::Arc;

/// Names by index. Most names of a module are never needed, so a table may read them on demand.
pub trait NameTable: fmt::Debug + Send + Sync {
    /// The name with an index.
    fn name(&self, index: u32) -> Option<&str>;

    /// Visits all names, by index.
    fn each(&self, see: &mut dyn FnMut(u32, &str));
}

/// Names in memory, sorted by index.
impl NameTable for Vec<(u32, String)> {
    fn name(&self, index: u32) -> Option<&str> {
        let found = self.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        Some(&self[found].1)
    }

    fn each(&self, see: &mut dyn FnMut(u32, &str)) {
        self.iter().for_each(|(index, name)| see(*index, name));
    }
}

/// The names of a module's functions.
#[derive(Clone, Debug)]
pub struct FunctionNames(Arc<dyn NameTable>);

impl FunctionNames {
    /// The names in a table.
    pub fn new(table: impl NameTable + 'static) -> FunctionNames {
        FunctionNames(Arc::new(table))
    }

    /// The name of a function.
    pub fn name(&self, function: u32) -> Option<&str> {
        self.0.name(function)
    }

    /// All names in the layout of a file: entries by index, and one text.
    pub fn to_file(&self) -> (Vec<NameEntry>, String) {
        let (mut entries, mut text) = (Vec::new(), String::new());
        self.0.each(&mut |index, name| {
            entries.push(NameEntry { index, start: text.len() as u32 });
            text.push_str(name);
        });
        (entries, text)
    }
}

impl Default for FunctionNames {
    fn default() -> FunctionNames {
        FunctionNames::new(Vec::new())
    }
}

/// A name in a file. It ends at the start of the next one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct NameEntry {
    /// The index of the function.
    pub index: u32,
    /// Its start in the text.
    pub start: u32,
}

/// The name with an index, in entries that are sorted by index.
pub fn name_in_file<'a>(entries: &[NameEntry], text: &'a [u8], index: u32) -> Option<&'a str> {
    let found = entries.binary_search_by_key(&index, |entry| entry.index).ok()?;
    name_at(entries, text, found)
}

/// The name of an entry.
pub fn name_at<'a>(entries: &[NameEntry], text: &'a [u8], number: usize) -> Option<&'a str> {
    let end = entries.get(number + 1).map_or(text.len(), |next| next.start as usize);
    std::str::from_utf8(text.get(entries.get(number)?.start as usize..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_file_are_those_in_memory() {
        let names = [(1, "first"), (3, ""), (7, "Ähre"), (900, "last")];
        let table: Vec<_> = names.iter().map(|(index, name)| (*index, name.to_string())).collect();
        let (entries, text) = FunctionNames::new(table.clone()).to_file();
        for index in 0..1000 {
            assert_eq!(name_in_file(&entries, text.as_bytes(), index), table.name(index));
        }
        assert_eq!(name_in_file(&entries, &text.as_bytes()[..7], 7), None);
        assert_eq!(FunctionNames::default().name(0), None);
    }
}
