//! The text of a module, for backtraces.

use ropewalk_runtime::Source;
use ropewalk_text::Text;

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
        let position = self.text.position(offset as usize)?;
        Some((position.line, position.column))
    }
}
