//! The text of a module, for backtraces.

use crate::precompiled::WrittenText;
use ropewalk_runtime::Source;
use ropewalk_text::Text;
use std::sync::OnceLock;

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
    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    fn position(&self, offset: u32) -> Option<(usize, usize)> {
        position(&self.text, offset)
    }

    fn text(&self) -> Option<&str> {
        Some(self.text.source())
    }
}

/// The text of a module that was not compiled here. It is read when a backtrace asks.
pub(crate) struct Later {
    written: WrittenText,
    /// Nothing if it cannot be read, as one module of a script.
    text: OnceLock<Option<Text>>,
}

impl Later {
    pub fn new(written: WrittenText) -> Later {
        Later { written, text: OnceLock::new() }
    }
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Later").field("file", &self.written.file).finish_non_exhaustive()
    }
}

impl Source for Later {
    fn file(&self) -> Option<&str> {
        self.written.file.as_deref()
    }

    fn position(&self, offset: u32) -> Option<(usize, usize)> {
        let text = self.text.get_or_init(|| Text::parse(&self.written.text).ok());
        position(text.as_ref()?, offset)
    }

    fn text(&self) -> Option<&str> {
        Some(&self.written.text)
    }
}

fn position(text: &Text, offset: u32) -> Option<(usize, usize)> {
    let position = text.position(offset as usize)?;
    Some((position.line, position.column))
}
