//! Finds parts of a field for which the parser gives no span.
//!
//! A field starts at its keyword (`func`, `data`), where the parser's span is, and ends with its
//! closing parenthesis. The source was parsed before, so a search normally succeeds. If it fails,
//! the caller reports the position of the field.

use wast::lexer::{Lexer, Token, TokenKind};

/// The closing parenthesis of a field.
pub(crate) fn closing(text: &str, field: usize) -> Option<usize> {
    let last = Nodes::of(text, field).last()?;
    (last.token.kind == TokenKind::RParen).then_some(last.token.offset)
}

/// The n-th `(export "..")` inside a field that is not itself an export.
pub(crate) fn inline_export(text: &str, field: usize, n: usize) -> Option<usize> {
    let mut nodes = Nodes::of(text, field);
    nodes.next().filter(|keyword| keyword.source != "export")?;
    let mut exports = heads(nodes, 1).filter(|head| head.source == "export");
    exports.nth(n).map(|export| export.token.offset)
}

/// The offset of an active data segment: `i32.const` in `(data (i32.const 0))`,
/// and `data` itself in `(memory (data ".."))`.
pub(crate) fn data_offset(text: &str, field: usize) -> Option<usize> {
    let is_offset = |head: &Node| !matches!(head.source, "memory" | "export" | "pagesize");
    let mut heads = heads(Nodes::of(text, field), 1);
    heads.find(is_offset).map(|head| head.token.offset)
}

/// The index in the `(type ..)` of a function, a tag or an import.
pub(crate) fn type_use(text: &str, field: usize) -> Option<usize> {
    let mut nodes = Nodes::of(text, field);
    let depth = if nodes.next()?.source == "import" { 2 } else { 1 };
    let is_instruction = |node: &Node| node.depth == 0 && node.token.kind == TokenKind::Keyword;
    let header = nodes.take_while(|node| !is_instruction(node));
    let type_use = heads(header, depth).find(|head| head.source == "type")?;
    Nodes::of(text, type_use.token.offset).nth(1).map(|index| index.token.offset)
}

/// The type of the n-th local that a function declares.
pub(crate) fn local(text: &str, function: usize, n: usize) -> Option<usize> {
    let locals = heads(Nodes::of(text, function), 1).filter(|head| head.source == "local");
    locals.flat_map(|local| local_types(text, local.token.offset)).nth(n)
}

/// The types in `local $x i32` or `local i32 (ref 0)`.
fn local_types(text: &str, local: usize) -> impl Iterator<Item = usize> {
    let is_type = |node: &Node| match node.token.kind {
        TokenKind::Keyword => node.depth == 0,
        TokenKind::LParen => node.depth == 1,
        _ => false,
    };
    Nodes::of(text, local).skip(1).filter(is_type).map(|node| node.token.offset)
}

/// The string literals directly inside a field.
pub(crate) fn strings(text: &str, field: usize) -> impl Iterator<Item = Token> {
    let is_string = |node: &Node| node.token.kind == TokenKind::String && node.depth == 0;
    Nodes::of(text, field).filter(is_string).map(|node| node.token)
}

/// The keywords that open a parenthesis of the given depth.
fn heads<'a>(
    nodes: impl Iterator<Item = Node<'a>>,
    depth: usize,
) -> impl Iterator<Item = Node<'a>> {
    let mut opened = false;
    nodes.filter(move |node| {
        let is_head = opened && node.token.kind == TokenKind::Keyword;
        opened = node.token.kind == TokenKind::LParen && node.depth == depth;
        is_head
    })
}

/// A token that is not white space, a comment or part of an annotation.
struct Node<'a> {
    token: Token,
    source: &'a str,
    /// The number of parentheses inside the field around the token, itself included.
    depth: usize,
}

/// The tokens of a field, up to its closing parenthesis, without white space, comments and
/// annotations.
struct Nodes<'a> {
    lexer: Lexer<'a>,
    next: usize,
    /// The number of open parentheses; `None` after the end of the field.
    depth: Option<usize>,
}

impl<'a> Nodes<'a> {
    /// Yields nothing if the field is not in the text.
    fn of(text: &'a str, field: usize) -> Nodes<'a> {
        let mut lexer = Lexer::new(text);
        lexer.allow_confusing_unicode(true);
        Nodes { lexer, next: field, depth: text.is_char_boundary(field).then_some(0) }
    }

    fn token(&mut self) -> Option<Token> {
        self.lexer.parse(&mut self.next).ok().flatten()
    }

    fn is_annotation(&self, token: &Token) -> bool {
        let follows = || self.lexer.annotation(self.next).ok().flatten().is_some();
        token.kind == TokenKind::LParen && follows()
    }

    fn skip_annotation(&mut self) -> Option<()> {
        let mut open = 1;
        while open > 0 {
            match self.token()?.kind {
                TokenKind::LParen => open += 1,
                TokenKind::RParen => open -= 1,
                _ => {}
            }
        }
        Some(())
    }

    fn significant(&mut self) -> Option<Token> {
        loop {
            let token = self.token()?;
            match token.kind {
                TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment => {}
                _ if self.is_annotation(&token) => self.skip_annotation()?,
                _ => return Some(token),
            }
        }
    }
}

impl<'a> Iterator for Nodes<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let outside = self.depth?;
        let token = self.significant()?;
        let (depth, after) = match token.kind {
            TokenKind::LParen => (outside + 1, Some(outside + 1)),
            TokenKind::RParen => (outside, outside.checked_sub(1)),
            _ => (outside, Some(outside)),
        };
        self.depth = after;
        Some(Node { token, source: token.src(self.lexer.input()), depth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTION: &str = r#"(func $f (@name "(") (export "a") (; ( ;) (export "b")
        (type $t) (param i32) (local $x i32) (local i64 (ref null 0)) (local) ;; )
        (call_indirect (type 7)) (drop) call_indirect (type 8))"#;

    #[track_caller]
    fn check(found: Option<usize>, source: &str) {
        assert_eq!(found, FUNCTION.find(source));
    }

    #[test]
    fn parts_of_a_function() {
        assert_eq!(closing(FUNCTION, 1), Some(FUNCTION.len() - 1));
        check(inline_export(FUNCTION, 1, 1), "export \"b\"");
        check(type_use(FUNCTION, 1), "$t");
        check(local(FUNCTION, 1, 0), "i32) (local i64");
        check(local(FUNCTION, 1, 1), "i64");
        check(local(FUNCTION, 1, 2), "(ref null 0)");
        check(local(FUNCTION, 1, 3), "not there");
    }

    #[test]
    fn a_type_in_the_body_is_not_the_functions() {
        assert_eq!(type_use("(func call_indirect (type 0))", 1), None);
        assert_eq!(type_use("(func (call_indirect (type 0)))", 1), None);
        assert_eq!(type_use("(import \"a\" \"b\" (func (type 0)))", 1), Some(28));
    }

    #[test]
    fn data() {
        assert_eq!(data_offset("(data (memory 1) (i32.const 0) \"\")", 1), Some(18));
        assert_eq!(data_offset("(memory (export \"m\") (data))", 1), Some(22));
        assert_eq!(strings("(module binary \"a\" (@x \"b\") \"c\")", 1).count(), 2);
    }
}
