//! Places in the text of a script.

use wast::token::Span;

/// The line of a place; the first line is 1.
pub(crate) fn line(text: &str, span: Span) -> usize {
    span.linecol_in(text).0 + 1
}

/// What is wrong with a text, the line where it is, and a caret below it.
pub(crate) fn diagnostic(text: &str, error: &wast::Error) -> String {
    let (line, column) = error.span().linecol_in(text);
    let source = text.lines().nth(line).unwrap_or("").replace('\t', " ");
    // A format has no room for as many columns as a line can have.
    let indent = " ".repeat(column);
    format!("{}\n    {source}\n    {indent}^", error.message())
}
