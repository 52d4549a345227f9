//! Prints messages in color, if the terminal supports it and `NO_COLOR` is not set.
//!
//! Messages are plain text. The beginning of a line tells its role.

use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};

use crate::terminal::escape;

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const HELP: Style = AnsiColor::BrightGreen.on_default().bold();
const MARGIN: Style = AnsiColor::BrightBlue.on_default().bold();
const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();

/// Words before a colon at the beginning of a line, with their styles.
const WORDS: [(&str, Style); 4] =
    [("error", ERROR), ("warning", WARNING), ("note", NOTE), ("help", HELP)];

/// Prints a message to the standard error, with control characters escaped. Errors are ignored,
/// since there is no other place to report them.
pub(crate) fn print(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}", colored(&escape::text(message)));
}

/// A message with escape sequences for colors.
fn colored(message: &str) -> String {
    let lines: Vec<String> = message.lines().map(line).collect();
    lines.join("\n")
}

fn line(line: &str) -> String {
    let trimmed = line.trim_start();
    let indent = &line[..line.len() - trimmed.len()];
    if let Some((word, style)) = WORDS.iter().find(|(word, _)| is_word(line, word)) {
        let (_, rest) = line.split_at(word.len() + 1);
        return styled(*style, word) + ":" + &styled(BOLD, rest);
    }
    if let Some(place) = trimmed.strip_prefix("--> ") {
        return format!("{indent}{} {place}", styled(MARGIN, "-->"));
    }
    if let Some((margin, rest)) = margin(line) {
        let is_caret = rest.trim_start() == "^";
        let rest = if is_caret { styled(ERROR, rest) } else { rest.to_owned() };
        return styled(MARGIN, margin) + &rest;
    }
    if trimmed.starts_with("-- ") || trimmed.starts_with("... ") {
        return styled(DIMMED, line);
    }
    frame(line).unwrap_or_else(|| line.to_owned())
}

fn is_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| rest.starts_with(": "))
}

/// Splits a line of source after its margin, `12 |`.
fn margin(line: &str) -> Option<(&str, &str)> {
    let bar = line.find('|')?;
    let is_number = |c: char| c == ' ' || c.is_ascii_hexdigit() || c == 'x';
    let (margin, rest) = line.split_at(bar + 1);
    (line.starts_with(' ') && line[..bar].chars().all(is_number)).then_some((margin, rest))
}

/// A frame of a backtrace, `3: place: module!function`, with the function emphasized.
fn frame(line: &str) -> Option<String> {
    let begin = line.rfind(": ")? + 2;
    let is_frame = line.starts_with("   ") && line[begin..].contains('!');
    let (place, function) = line.split_at(begin);
    is_frame.then(|| styled(DIMMED, place) + &styled(BOLD, function))
}

fn styled(style: Style, text: &str) -> String {
    let mut styled = String::new();
    let _ = write!(styled, "{style}{text}{style:#}");
    styled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message with brackets instead of escape sequences.
    fn marked(text: &str) -> String {
        let marks =
            [(ERROR, "E"), (NOTE, "N"), (HELP, "H"), (MARGIN, "M"), (BOLD, "B"), (DIMMED, "S")];
        let mut text = colored(text).replace(&format!("{ERROR:#}"), "]");
        for (style, mark) in marks {
            text = text.replace(&style.to_string(), &format!("{mark}["));
        }
        text
    }

    #[test]
    fn words_and_places_are_styled() {
        assert_eq!(marked("error: no"), "E[error]:B[ no]");
        assert_eq!(marked("help: try it"), "H[help]:B[ try it]");
        assert_eq!(marked("  --> a.wat:3:4"), "  M[-->] a.wat:3:4");
        assert_eq!(marked("   |"), "M[   |]");
        assert_eq!(marked(" 3 | nop"), "M[ 3 |] nop");
        assert_eq!(marked("   |   ^"), "M[   |]E[   ^]");
        assert_eq!(marked("   0: a.wat:1:2: m!f"), "S[   0: a.wat:1:2: ]B[m!f]");
        assert_eq!(marked("      -- resumed by resume"), "S[      -- resumed by resume]");
    }

    #[test]
    fn other_lines_are_not_styled() {
        for text in ["", "errors: none", "a | b", "wasm backtrace:", "  no: frame"] {
            assert_eq!(colored(text), text);
        }
    }
}
