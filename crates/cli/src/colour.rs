//! Messages in colours, on a terminal that shows them and for users who want them (`NO_COLOR`).
//!
//! Messages are plain text, as the library makes them. What a line is can be seen by its beginning.

use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};

use crate::plain;

const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const HELP: Style = AnsiColor::BrightGreen.on_default().bold();
const MARGIN: Style = AnsiColor::BrightBlue.on_default().bold();
const BOLD: Style = Style::new().bold();
const SOFT: Style = Style::new().dimmed();

/// Words that a line begins with before a colon, and how they look.
const WORDS: [(&str, Style); 4] =
    [("error", ERROR), ("warning", WARNING), ("note", NOTE), ("help", HELP)];

/// Writes a message to the standard error, as all messages are written, and without anything
/// that would disturb a terminal. If even that fails, there is nobody left to tell.
pub(crate) fn print(message: &str) {
    let _ = writeln!(anstream::stderr(), "{}", painted(&plain::text(message)));
}

/// A message with the sequences that make colours.
fn painted(message: &str) -> String {
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
        return styled(SOFT, line);
    }
    frame(line).unwrap_or_else(|| line.to_owned())
}

fn is_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| rest.starts_with(": "))
}

/// The margin of a line of source, `12 |`, and the rest.
fn margin(line: &str) -> Option<(&str, &str)> {
    let bar = line.find('|')?;
    let is_number = |c: char| c == ' ' || c.is_ascii_hexdigit() || c == 'x';
    let (margin, rest) = line.split_at(bar + 1);
    (line.starts_with(' ') && line[..bar].chars().all(is_number)).then_some((margin, rest))
}

/// A frame of a backtrace, `3: place: module!function`: the function is what is looked for.
fn frame(line: &str) -> Option<String> {
    let begin = line.rfind(": ")? + 2;
    let is_frame = line.starts_with("   ") && line[begin..].contains('!');
    let (place, function) = line.split_at(begin);
    is_frame.then(|| styled(SOFT, place) + &styled(BOLD, function))
}

fn styled(style: Style, text: &str) -> String {
    let mut styled = String::new();
    let _ = write!(styled, "{style}{text}{style:#}");
    styled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is bold and red, and so on, in brackets.
    fn marked(text: &str) -> String {
        let marks =
            [(ERROR, "E"), (NOTE, "N"), (HELP, "H"), (MARGIN, "M"), (BOLD, "B"), (SOFT, "S")];
        let mut text = painted(text).replace(&format!("{ERROR:#}"), "]");
        for (style, mark) in marks {
            text = text.replace(&style.to_string(), &format!("{mark}["));
        }
        text
    }

    #[test]
    fn words_and_places_stand_out() {
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
    fn all_else_stays_as_it_is() {
        for text in ["", "errors: none", "a | b", "wasm backtrace:", "  no: frame"] {
            assert_eq!(painted(text), text);
        }
    }
}
