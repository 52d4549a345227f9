//! The source that a module was made from.

use std::fmt;

/// The source that a module was made from, and where in it everything stands: its text, or what a
/// compiler left behind of another language.
pub trait Source: fmt::Debug + Send + Sync {
    /// Where the instruction at a byte of the binary stands. The first place is that of the
    /// innermost function, if functions were inlined; the last is in the function itself.
    fn places(&self, offset: u32) -> Vec<Place>;

    /// The text of the module, if that is the source.
    fn text(&self) -> Option<&str> {
        None
    }

    /// What is kept of it with a module that is compiled to a file.
    fn stored(&self) -> Vec<u8>;
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Option<String>,
    line: usize,
    column: Option<usize>,
    function: Option<String>,
}

impl Place {
    /// A line of a file, and a character of that line; the first of each is 1.
    pub fn new(file: Option<String>, line: usize, column: Option<usize>) -> Place {
        Place { file, line, column, function: None }
    }

    /// The place is in a function of that name.
    pub fn in_function(self, name: Option<String>) -> Place {
        Place { function: name, ..self }
    }

    /// The file, if it is known.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line; the first is 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The character of the line, if it is known; the first is 1.
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// The function, as the source calls it, if that says so.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }
}

/// Stands for the file of a text that was read from none.
const UNKNOWN_FILE: &str = "<text>";

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file().unwrap_or(UNKNOWN_FILE), self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
