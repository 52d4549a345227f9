//! Names of functions, wherever they lie.

use bytemuck::{Pod, Zeroable};
use std::fmt;
use std::sync::Arc;

/// Names by index. Many modules have far more of them than anybody asks for.
pub trait NameTable: fmt::Debug + Send + Sync {
    /// The name of what has an index.
    fn name(&self, index: u32) -> Option<&str>;

    /// Shows all of them, by index.
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
    /// Those of a table.
    pub fn new(table: impl NameTable + 'static) -> FunctionNames {
        FunctionNames(Arc::new(table))
    }

    /// The name of a function.
    pub fn name(&self, function: u32) -> Option<&str> {
        self.0.name(function)
    }

    /// All of them, as they lie in a file: entries by index, and one text.
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

/// A name in a file. It ends where the next one begins.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct NameEntry {
    /// What it is the name of.
    pub index: u32,
    /// Where it begins in the text.
    pub start: u32,
}

/// The name of what has an index, among entries that are sorted by it.
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
