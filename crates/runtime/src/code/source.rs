//! The source of a module, and places in it.

use std::fmt;

/// The source of a module: its text, or the debug information of another language.
pub trait Source: fmt::Debug + Send + Sync {
    /// The places of the instruction at a byte of the binary, in inlined functions first.
    fn places(&self, offset: u32) -> Vec<SourcePlace>;

    /// The text of the module, if that is the source.
    fn text(&self) -> Option<&str> {
        None
    }

    /// The encoding of the source in a compiled file.
    fn stored(&self) -> Vec<u8>;
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    file: Option<String>,
    line: usize,
    column: Option<usize>,
    function: Option<String>,
}

impl SourcePlace {
    /// A line of a file, and a column; both count from 1.
    pub fn new(file: Option<String>, line: usize, column: Option<usize>) -> SourcePlace {
        SourcePlace { file, line, column, function: None }
    }

    /// Adds the name of the function.
    pub fn in_function(self, name: Option<String>) -> SourcePlace {
        SourcePlace { function: name, ..self }
    }

    /// The file, if it is known.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, from 1, if it is known.
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// The name of the function in the source, if it is known.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }
}

/// Stands for the file of a text that was not read from one.
const UNKNOWN_FILE: &str = "<text>";

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file().unwrap_or(UNKNOWN_FILE), self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
