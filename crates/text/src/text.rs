//! A module in the text format and its binary.

use std::sync::Arc;

use wast::QuoteWat;
use wast::core::Module;

use crate::dialect::{Script, legacy};
use crate::encode::EncodedModule;
use crate::error::{Error, Line, Position, TextError};
use crate::explain::Explained;

/// A module in the text format, its binary, and the source position of each part of the binary.
///
/// ```
/// use ropewalk_text::{Position, Text};
///
/// let text = Text::parse("(module\n  (start 1)\n  (func))")?;
/// assert!(text.binary().starts_with(b"\0asm"));
///
/// let error = wasmparser::validate(text.binary()).err().unwrap();
/// let position = text.position(error.offset() as usize);
/// assert_eq!(position, Some(Position { line: 2, column: 10 }));
/// # Ok::<(), ropewalk_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Text {
    source: Arc<str>,
    encoded: EncodedModule,
}

impl Text {
    /// Parses one module, and encodes it.
    ///
    /// The module is written `(module ..)`, as its fields alone, `(module
    /// binary "..")`, or `(module quote "..")`, and may use dialects. It is
    /// not validated.
    ///
    /// ```
    /// use ropewalk_text::Text;
    ///
    /// let add = "(func (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))";
    /// let text = Text::parse(add)?;
    /// assert_eq!(text.binary(), Text::parse(&format!("(module {add})"))?.binary());
    /// # Ok::<(), ropewalk_text::TextError>(())
    /// ```
    pub fn parse(source: &str) -> Result<Text, TextError> {
        Text::new(source.into(), || EncodedModule::parse(source))
    }

    /// Encodes a module that was parsed as part of a script. Positions are those of the script,
    /// which is `source`. A `source` that is an `Arc<str>` is not copied.
    ///
    /// Instructions have positions only if the [`ParseBuffer`](wast::parser::ParseBuffer) tracks
    /// their spans. Otherwise they have the position of their field.
    pub fn from_wast(
        module: &mut QuoteWat<'_>,
        source: impl Into<Arc<str>>,
    ) -> Result<Text, TextError> {
        let source = source.into();
        Text::new(Arc::clone(&source), || EncodedModule::quote_wat(module, &source))
    }

    /// Encodes a module that was parsed from `source`, as
    /// [`from_wast`](Text::from_wast) does.
    pub fn from_module(
        module: &mut Module<'_>,
        source: impl Into<Arc<str>>,
    ) -> Result<Text, TextError> {
        let source = source.into();
        Text::new(Arc::clone(&source), || EncodedModule::module(module, &source))
    }

    /// Encodes a module of a script that may use dialects. The script was parsed from
    /// [`Script::text`], and positions are those of the script.
    pub fn from_script(module: &mut QuoteWat<'_>, script: &Script) -> Result<Text, TextError> {
        Text::new(Arc::clone(script.source()), || EncodedModule::script(module, script))
    }

    /// The standard text of a module that uses dialects.
    ///
    /// ```
    /// use ropewalk_text::Text;
    ///
    /// let text = Text::parse("(type $c (stack (param i32) (ref null $c)))")?;
    /// assert_eq!(
    ///     text.lowered(),
    ///     Some("(rec (type $c.func (func (param i32 (ref null $c)))) (type $c (cont $c.func)))"),
    /// );
    /// assert_eq!(Text::parse("(func)")?.lowered(), None);
    /// # Ok::<(), ropewalk_text::TextError>(())
    /// ```
    pub fn lowered(&self) -> Option<&str> {
        self.encoded.standard()
    }

    /// The source text; for a module of a script, the whole script.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The module in the binary format.
    pub fn binary(&self) -> &[u8] {
        &self.encoded.binary
    }

    /// Turns an error at a byte offset of the binary into one at its position in the source. If
    /// only the module as a whole corresponds to the byte, that is the position of the module. A
    /// validator's message gets names of types in place of its `$type`.
    ///
    /// ```
    /// let text = ropewalk_text::Text::parse("(func i32.const 1)")?;
    /// let error = wasmparser::validate(text.binary()).err().unwrap();
    /// let error = text.error_at(error.offset() as usize, "a value remains on the stack");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "\
    /// a value remains on the stack
    ///   --> 1:18
    ///    |
    ///  1 | (func i32.const 1)
    ///    |                  ^"
    /// );
    /// # Ok::<(), ropewalk_text::TextError>(())
    /// ```
    pub fn error_at(&self, offset: usize, message: &str) -> TextError {
        let Explained { message, clause } = self.encoded.explain(offset, message);
        let found = self.encoded.find_clause(&self.source, offset, clause);
        let found = found.unwrap_or(self.encoded.module);
        TextError::new(&self.source, Error::invalid(found, message))
    }

    /// The source position of a byte of the binary, if a part of the source smaller than the module
    /// corresponds to it.
    pub fn position(&self, offset: usize) -> Option<Position> {
        self.find(offset).map(|found| Line::of(&self.source, found).position())
    }

    fn find(&self, offset: usize) -> Option<usize> {
        self.encoded.find(&self.source, offset)
    }

    fn new(
        source: Arc<str>,
        encode: impl FnOnce() -> Result<EncodedModule, Error>,
    ) -> Result<Text, TextError> {
        // Spans are stored in four bytes.
        if u32::try_from(source.len()).is_err() {
            return Err(TextError::whole("the text is larger than 4 GiB"));
        }
        match encode() {
            Ok(encoded) => Ok(Text { source, encoded }),
            Err(error) => Err(TextError::new(&source, legacy::explain(&source, error))),
        }
    }
}
