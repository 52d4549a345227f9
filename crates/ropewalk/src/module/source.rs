//! The source of a module, for backtraces: its text, or its debug information.

use crate::module::dwarf::Dwarf;
use ropewalk_runtime::code::precompiled::Precompiled;
use ropewalk_runtime::{Source, SourcePlace};
use ropewalk_text::Text;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The source in the file of a compiled module.
#[derive(Serialize, Deserialize)]
pub(crate) enum StoredSource {
    Text(StoredText),
    Dwarf(Dwarf),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredText {
    text: String,
    file: Option<String>,
}

impl StoredSource {
    /// The source, which is parsed for the first backtrace.
    pub fn source(self) -> Arc<dyn Source> {
        match self {
            StoredSource::Text(stored) => Arc::new(LazyText { stored, text: OnceLock::new() }),
            StoredSource::Dwarf(dwarf) => Arc::new(dwarf),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("memory takes all bytes")
    }
}

/// The source in the file of a compiled module, which is read for the first backtrace.
pub(crate) struct SourceInFile {
    file: Arc<Precompiled>,
    /// `None` if the file is damaged there.
    source: OnceLock<Option<Arc<dyn Source>>>,
}

impl SourceInFile {
    pub fn new(file: Arc<Precompiled>) -> SourceInFile {
        SourceInFile { file, source: OnceLock::new() }
    }

    fn get(&self) -> Option<&dyn Source> {
        let read =
            || Some(postcard::from_bytes::<StoredSource>(self.file.source()?).ok()?.source());
        self.source.get_or_init(read).as_deref()
    }
}

impl std::fmt::Debug for SourceInFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SourceInFile")
    }
}

impl Source for SourceInFile {
    fn places(&self, offset: u32) -> Vec<SourcePlace> {
        self.get().map(|source| source.places(offset)).unwrap_or_default()
    }

    fn text(&self) -> Option<&str> {
        self.get()?.text()
    }

    fn stored(&self) -> Vec<u8> {
        self.file.source().unwrap_or_default().to_vec()
    }
}

/// A compiled text, and its path. Positions are computed for backtraces only, so they do not slow
/// down compiling.
#[derive(Debug)]
pub(crate) struct TextSource {
    pub text: Text,
    pub file: Option<String>,
}

impl Source for TextSource {
    fn places(&self, offset: u32) -> Vec<SourcePlace> {
        place(&self.text, &self.file, offset).into_iter().collect()
    }

    fn text(&self) -> Option<&str> {
        Some(self.text.source())
    }

    fn stored(&self) -> Vec<u8> {
        let text = self.text.source().to_string();
        StoredSource::Text(StoredText { text, file: self.file.clone() }).to_bytes()
    }
}

/// The text of a module that another process compiled. It is parsed for the first backtrace.
struct LazyText {
    stored: StoredText,
    /// `None` if it cannot be parsed, as for one module of a script.
    text: OnceLock<Option<Text>>,
}

impl std::fmt::Debug for LazyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyText").field("file", &self.stored.file).finish_non_exhaustive()
    }
}

impl Source for LazyText {
    fn places(&self, offset: u32) -> Vec<SourcePlace> {
        let text = self.text.get_or_init(|| Text::parse(&self.stored.text).ok());
        let place = text.as_ref().and_then(|text| place(text, &self.stored.file, offset));
        place.into_iter().collect()
    }

    fn text(&self) -> Option<&str> {
        Some(&self.stored.text)
    }

    fn stored(&self) -> Vec<u8> {
        let StoredText { text, file } = &self.stored;
        StoredSource::Text(StoredText { text: text.clone(), file: file.clone() }).to_bytes()
    }
}

fn place(text: &Text, file: &Option<String>, offset: u32) -> Option<SourcePlace> {
    let position = text.position(offset as usize)?;
    Some(SourcePlace::new(file.clone(), position.line, Some(position.column)))
}
