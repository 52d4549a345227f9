//! Finds tokens and forms in any text, which may not be valid WebAssembly text.

use std::ops::Range;

/// The ranges of tokens: parentheses, strings, comments and words.
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b' ' | b'\n' | b'\r' | b'\t' => {
                at += 1;
                continue;
            }
            b'(' if bytes.get(at + 1) == Some(&b';') => at = end_of_comment(bytes, at),
            b'(' | b')' => at += 1,
            b';' => at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at),
            b'"' => at = end_of_string(bytes, at),
            _ => {
                let is_end = |b: &u8| b" \n\r\t();\"".contains(b);
                at += bytes[at..].iter().position(is_end).unwrap_or(bytes.len() - at).max(1);
            }
        }
        tokens.push(begin..at);
    }
    tokens
}

fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    let mut end = (at + 1).min(bytes.len());
    // An escape at the end may point into a character.
    while end < bytes.len() && bytes[end] & 0xc0 == 0x80 {
        end += 1;
    }
    end
}

fn end_of_comment(bytes: &[u8], begin: usize) -> usize {
    let end = bytes[begin..].windows(2).position(|two| two == b";)");
    end.map_or(bytes.len(), |end| begin + end + 2)
}

/// The ranges of the outermost forms.
pub fn forms(text: &str) -> Vec<Range<usize>> {
    let all = nested(text);
    let is_outer = |form: &&(usize, Range<usize>)| form.0 == 0;
    all.iter().filter(is_outer).map(|(_, range)| range.clone()).collect()
}

/// All forms of a text, with their nesting.
pub fn nested(text: &str) -> Vec<(usize, Range<usize>)> {
    let mut open = Vec::new();
    let mut forms = Vec::new();
    for token in tokens(text) {
        match &text[token.clone()] {
            "(" => open.push(token.start),
            ")" => {
                if let Some(begin) = open.pop() {
                    forms.push((open.len(), begin..token.end));
                }
            }
            _ => {}
        }
    }
    forms.sort_by_key(|(_, range)| range.start);
    forms
}
