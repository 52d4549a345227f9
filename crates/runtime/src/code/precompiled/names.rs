//! The names of functions in a compiled file, read in place.

use super::file::Precompiled;
use ropewalk_abi::names::{NameEntry, NameTable, name_at, name_in_file};
use std::fmt;
use std::sync::Arc;

/// The names of functions in a file; none if they are damaged.
pub struct NamesInFile(pub Arc<Precompiled>);

impl NameTable for NamesInFile {
    fn name(&self, index: u32) -> Option<&str> {
        let (entries, text) = self.0.names()?;
        name_in_file(entries, text, index)
    }

    fn each(&self, see: &mut dyn FnMut(u32, &str)) {
        let Some((entries, text)) = self.0.names() else { return };
        for (number, NameEntry { index, .. }) in entries.iter().enumerate() {
            if let Some(name) = name_at(entries, text, number) {
                see(*index, name);
            }
        }
    }
}

impl fmt::Debug for NamesInFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamesInFile")
    }
}
