//! The string literals of `(module binary "..")`, which are the binary, and of `(module quote
//! "..")`, which are its text.

use crate::syntax::field_parts;

/// The string literals of a module, joined.
#[derive(Debug)]
pub(crate) struct Literals {
    /// For each literal, its start in the joined contents and in the source.
    starts: Vec<(u32, u32)>,
}

impl Literals {
    /// The literals of the module at `module`, and their contents with `separator` after each.
    pub fn read(source: &str, module: usize, separator: &[u8]) -> (Literals, Vec<u8>) {
        let mut starts = Vec::new();
        let mut contents = Vec::new();
        for literal in field_parts::strings(source, module) {
            starts.push((contents.len() as u32, literal.offset as u32));
            contents.extend_from_slice(&literal.string(source));
            contents.extend_from_slice(separator);
        }
        (Literals { starts }, contents)
    }

    /// The offset in the source of a byte of the contents. A byte after a literal belongs to its
    /// closing quote.
    pub fn find(&self, source: &str, offset: usize) -> Option<usize> {
        let after = self.starts.partition_point(|&(start, _)| start as usize <= offset);
        let (start, literal) = *self.starts.get(after.checked_sub(1)?)?;
        let mut at = literal as usize + 1;
        let mut bytes = start as usize;
        while let Some(element) = Element::first(&source[at..]) {
            bytes += element.bytes;
            if bytes > offset {
                break;
            }
            at += element.length;
        }
        Some(at)
    }
}

/// A character or an escape sequence in a string literal.
struct Element {
    length: usize,
    /// The number of bytes in the contents.
    bytes: usize,
}

impl Element {
    /// The first element, or `None` at the closing quote.
    fn first(rest: &str) -> Option<Element> {
        let mut chars = rest.chars();
        match chars.next()? {
            '"' => None,
            '\\' => Element::escape(chars.as_str()),
            c => Some(Element { length: c.len_utf8(), bytes: c.len_utf8() }),
        }
    }

    /// The escape sequence after a backslash.
    fn escape(rest: &str) -> Option<Element> {
        match rest.chars().next()? {
            'u' => Element::code_point(rest),
            digit if digit.is_ascii_hexdigit() => Some(Element { length: 3, bytes: 1 }),
            _ => Some(Element { length: 2, bytes: 1 }),
        }
    }

    /// `u{1f600}`.
    fn code_point(rest: &str) -> Option<Element> {
        let digits = rest.strip_prefix("u{")?.split('}').next()?;
        let number = u32::from_str_radix(&digits.replace('_', ""), 16).ok()?;
        let bytes = char::from_u32(number)?.len_utf8();
        Some(Element { length: digits.len() + r"\u{}".len(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found() {
        let source = r#"(module quote "aé\u{1f6_00}" "\n\"\7f" "z")"#;
        let (literals, contents) = Literals::read(source, 8, b" ");
        assert_eq!(contents, "aé😀 \n\"\x7f z ".as_bytes());
        let find = |offset| &source[literals.find(source, offset).unwrap()..];
        assert!(find(0).starts_with("aé"));
        assert!(find(1).starts_with('é'));
        assert!(find(2).starts_with('é'));
        assert!(find(6).starts_with(r"\u{"));
        assert!(find(7).starts_with("\" \"\\n"));
        assert!(find(8).starts_with(r"\n"));
        assert!(find(9).starts_with(r#"\""#));
        assert!(find(10).starts_with(r"\7f"));
        assert!(find(12).starts_with('z'));
        assert!(find(99).starts_with("\")"));
    }
}
