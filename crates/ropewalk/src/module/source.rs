//! The source of a module, for backtraces: its text, or what its debug information says.

use crate::module::dwarf::Dwarf;
use ropewalk_runtime::code::precompiled::Precompiled;
use ropewalk_runtime::{Place, Source};
use ropewalk_text::Text;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What is kept of a source with a module that is compiled to a file.
#[derive(Serialize, Deserialize)]
pub(crate) enum Stored {
    Text(WrittenText),
    Dwarf(Dwarf),
}

/// A module in the text format.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenText {
    text: String,
    file: Option<String>,
}

impl Stored {
    /// The source, which is read when a backtrace asks.
    pub fn source(self) -> Arc<dyn Source> {
        match self {
            Stored::Text(written) => Arc::new(Later { written, text: OnceLock::new() }),
            Stored::Dwarf(dwarf) => Arc::new(dwarf),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("memory takes all bytes")
    }
}

/// The source of a module out of a file, which is read when a backtrace asks.
pub(crate) struct InFile {
    file: Arc<Precompiled>,
    /// Nothing if the file is damaged there.
    source: OnceLock<Option<Arc<dyn Source>>>,
}

impl InFile {
    pub fn new(file: Arc<Precompiled>) -> InFile {
        InFile { file, source: OnceLock::new() }
    }

    fn get(&self) -> Option<&dyn Source> {
        let read = || Some(postcard::from_bytes::<Stored>(self.file.source()?).ok()?.source());
        self.source.get_or_init(read).as_deref()
    }
}

impl std::fmt::Debug for InFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InFile")
    }
}

impl Source for InFile {
    fn places(&self, offset: u32) -> Vec<Place> {
        self.get().map(|source| source.places(offset)).unwrap_or_default()
    }

    fn text(&self) -> Option<&str> {
        self.get()?.text()
    }

    fn stored(&self) -> Vec<u8> {
        self.file.source().unwrap_or_default().to_vec()
    }
}

/// A text that was compiled, and the file that it was read from.
///
/// It is kept as long as the module. Where something stands is looked for when a
/// backtrace asks, so a module costs no more time to make than its binary does.
#[derive(Debug)]
pub(crate) struct Written {
    pub text: Text,
    pub file: Option<String>,
}

impl Source for Written {
    fn places(&self, offset: u32) -> Vec<Place> {
        place(&self.text, &self.file, offset).into_iter().collect()
    }

    fn text(&self) -> Option<&str> {
        Some(self.text.source())
    }

    fn stored(&self) -> Vec<u8> {
        let text = self.text.source().to_string();
        Stored::Text(WrittenText { text, file: self.file.clone() }).to_bytes()
    }
}

/// The text of a module that was not compiled here. It is read when a backtrace asks.
struct Later {
    written: WrittenText,
    /// Nothing if it cannot be read, as one module of a script.
    text: OnceLock<Option<Text>>,
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Later").field("file", &self.written.file).finish_non_exhaustive()
    }
}

impl Source for Later {
    fn places(&self, offset: u32) -> Vec<Place> {
        let text = self.text.get_or_init(|| Text::parse(&self.written.text).ok());
        let place = text.as_ref().and_then(|text| place(text, &self.written.file, offset));
        place.into_iter().collect()
    }

    fn text(&self) -> Option<&str> {
        Some(&self.written.text)
    }

    fn stored(&self) -> Vec<u8> {
        let WrittenText { text, file } = &self.written;
        Stored::Text(WrittenText { text: text.clone(), file: file.clone() }).to_bytes()
    }
}

fn place(text: &Text, file: &Option<String>, offset: u32) -> Option<Place> {
    let position = text.position(offset as usize)?;
    Some(Place::new(file.clone(), position.line, Some(position.column)))
}
