//! The tree of a text: words and lists, with their offsets.
//!
//! The tree is flat: it is the sequence of all tokens except white space, comments and annotations,
//! and each opening parenthesis has the index of the closing one. A *node* is the index of a token:
//! a word, or the parenthesis that opens a list. Deeply nested text needs no deep recursion.

use std::ops::Range;

use wast::lexer::{Lexer, Token, TokenKind};

use crate::error::{Error, Result};

/// The index of a token: a word, or the list that it opens.
pub(crate) type Node = usize;

#[derive(Debug)]
pub(crate) struct Tree<'a> {
    source: &'a str,
    range: Range<usize>,
    tokens: Vec<Token>,
    /// For each token, the last token of its node, and the list that contains it.
    ends: Vec<Node>,
    parents: Vec<Option<Node>>,
    error: Option<Error>,
    /// The end of the last readable token.
    readable: usize,
}

impl<'a> Tree<'a> {
    /// Parses a part of a source. On an error, the tree has what precedes it, with balanced
    /// parentheses, and [`error`](Tree::error) returns it.
    pub fn parse(source: &'a str, range: Range<usize>) -> Tree<'a> {
        let mut tree = Tree {
            source,
            range: range.clone(),
            tokens: Vec::new(),
            ends: Vec::new(),
            parents: Vec::new(),
            error: None,
            readable: range.start,
        };
        let mut open = Vec::new();
        let read = read_tokens(source, &range, |token| tree.push(token, &mut open));
        tree.error = read.err();
        tree.readable =
            tree.tokens.last().map_or(range.start, |last| last.offset + last.len as usize);
        while !open.is_empty() {
            let message = "expected `)`: a parenthesis is not closed";
            tree.error.get_or_insert_with(|| Error::malformed(range.end, message));
            let close = Token { kind: TokenKind::RParen, offset: range.end, len: 0 };
            tree.close(close, &mut open);
        }
        tree
    }

    /// Adds a token; `open` has the unclosed lists.
    fn push(&mut self, token: Token, open: &mut Vec<Node>) -> Result<()> {
        if token.kind == TokenKind::RParen {
            return match self.close(token, open) {
                Some(()) => Ok(()),
                None => Err(Error::malformed(
                    token.offset,
                    "unexpected `)`: no parenthesis is open here",
                )),
            };
        }
        let node = self.add(token, open.last().copied());
        open.extend((token.kind == TokenKind::LParen).then_some(node));
        Ok(())
    }

    /// Closes the innermost open list.
    fn close(&mut self, token: Token, open: &mut Vec<Node>) -> Option<()> {
        let list = open.pop()?;
        self.ends[list] = self.add(token, Some(list));
        Some(())
    }

    fn add(&mut self, token: Token, parent: Option<Node>) -> Node {
        let node = self.tokens.len();
        self.tokens.push(token);
        self.ends.push(node);
        self.parents.push(parent);
        node
    }

    /// The first error of the source, if it has one.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The offset of the end of the last readable token.
    pub fn readable(&self) -> usize {
        self.readable
    }

    /// The whole source. The tree may cover only a part of it.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// The part of the source that the tree covers.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The nodes outside all lists.
    pub fn top(&self) -> Nodes<'_, 'a> {
        Nodes { tree: self, next: 0, end: self.len() }
    }

    /// The nodes in a list, including its first word.
    pub fn children(&self, list: Node) -> Nodes<'_, 'a> {
        Nodes { tree: self, next: list + 1, end: self.ends[list] }
    }

    /// The nodes after a node in the same list.
    pub fn siblings(&self, node: Node) -> Nodes<'_, 'a> {
        let end = self.parents[node].map_or(self.len(), |list| self.ends[list]);
        Nodes { tree: self, next: self.ends[node] + 1, end }
    }

    /// The nodes from `next` up to `end`.
    pub fn between(&self, next: Node, end: Node) -> Nodes<'_, 'a> {
        Nodes { tree: self, next, end }
    }

    pub fn kind(&self, node: Node) -> Option<TokenKind> {
        self.tokens.get(node).map(|token| token.kind)
    }

    pub fn is_list(&self, node: Node) -> bool {
        self.kind(node) == Some(TokenKind::LParen)
    }

    pub fn is_name(&self, node: Node) -> bool {
        self.kind(node) == Some(TokenKind::Id)
    }

    pub fn is_number(&self, node: Node) -> bool {
        matches!(self.kind(node), Some(TokenKind::Integer(_)))
    }

    /// The node's text, if it is a keyword.
    pub fn word(&self, node: Node) -> Option<&'a str> {
        (self.kind(node) == Some(TokenKind::Keyword)).then(|| self.text(node))
    }

    /// The first word of a list, if it is a keyword.
    pub fn head(&self, list: Node) -> Option<&'a str> {
        self.is_list(list).then(|| self.word(list + 1)).flatten()
    }

    /// Whether one of these words is used as a type, that is, other than as the head of a list.
    pub fn has_type_word(&self, words: &[&str]) -> bool {
        let is_head = |node: Node| self.parent(node).is_some_and(|list| list + 1 == node);
        let is_one = |node| self.word(node).is_some_and(|word| words.contains(&word));
        (0..self.len()).any(|node| is_one(node) && !is_head(node))
    }

    /// The list that contains a node.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.parents.get(node).copied().flatten()
    }

    /// The last token of a node: for a list, its closing parenthesis.
    pub fn last(&self, node: Node) -> Node {
        self.ends[node]
    }

    pub fn start(&self, node: Node) -> usize {
        self.tokens.get(node).map_or(self.range.end, |token| token.offset)
    }

    pub fn end(&self, node: Node) -> usize {
        let last = &self.tokens[self.ends[node]];
        last.offset + last.len as usize
    }

    pub fn text(&self, node: Node) -> &'a str {
        &self.source[self.start(node)..self.end(node)]
    }

    /// Describes a node in an error: by its source if that is short, or else by its sort.
    pub fn describe(&self, node: Node) -> String {
        match self.kind(node) {
            None => "the end".to_string(),
            Some(TokenKind::RParen) => "`)`".to_string(),
            Some(TokenKind::LParen) => {
                self.head(node).map_or("`(`".to_string(), |head| format!("`({head} ..)`"))
            }
            Some(_) => format!("`{}`", self.text(node)),
        }
    }
}

/// An iterator over nodes.
#[derive(Debug, Clone)]
pub(crate) struct Nodes<'t, 'a> {
    tree: &'t Tree<'a>,
    next: Node,
    end: Node,
}

impl Nodes<'_, '_> {
    /// The next node, or the token after the last one.
    pub fn peek(&self) -> Node {
        self.next
    }
}

impl Iterator for Nodes<'_, '_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        let node = self.next;
        (node < self.end).then(|| self.next = self.tree.ends[node] + 1)?;
        Some(node)
    }
}

/// Reads the tokens of a part of a source, without white space, comments and annotations.
fn read_tokens(
    source: &str,
    range: &Range<usize>,
    mut push: impl FnMut(Token) -> Result<()>,
) -> Result<()> {
    let mut lexer = Lexer::new(source);
    lexer.allow_confusing_unicode(true);
    let mut next = range.start;
    while next < range.end {
        let Some(token) = lexer.parse(&mut next)? else { break };
        match token.kind {
            TokenKind::Whitespace | TokenKind::LineComment | TokenKind::BlockComment => {}
            TokenKind::LParen if lexer.annotation(next)?.is_some() => {
                skip_annotation(&lexer, &mut next)?;
            }
            _ => push(token)?,
        }
    }
    Ok(())
}

/// Skips to the end of an annotation.
fn skip_annotation(lexer: &Lexer<'_>, next: &mut usize) -> Result<()> {
    let mut open = 1;
    while open > 0 {
        match lexer.parse(next)?.map(|token| token.kind) {
            Some(TokenKind::LParen) => open += 1,
            Some(TokenKind::RParen) => open -= 1,
            Some(_) => {}
            None => {
                return Err(Error::malformed(*next, "expected `)`: an annotation is not closed"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lists() {
        let source = r#"(a (@x (y)) $b (c 1) "s" ;; )
            (; ( ;) d) e"#;
        let tree = Tree::parse(source, 0..source.len());
        assert_eq!(tree.error(), None);
        let text = |nodes: Nodes<'_, '_>| nodes.map(|node| tree.text(node)).collect::<Vec<_>>();
        assert_eq!(tree.top().count(), 2);
        assert_eq!(text(tree.children(0)), ["a", "$b", "(c 1)", "\"s\"", "d"]);
        assert_eq!(text(tree.siblings(2)), ["(c 1)", "\"s\"", "d"]);
        assert_eq!(tree.head(3), Some("c"));
        assert_eq!(tree.parent(4), Some(3));
    }

    #[test]
    fn parentheses_must_match() {
        let error = |source| Tree::parse(source, 0..source.len()).error().map(|error| error.offset);
        assert_eq!(error("(a (b)"), Some(6));
        assert_eq!(error("(a))"), Some(3));
        assert_eq!(error("(@a (b)"), Some(7));
        assert_eq!(error("(a \u{1}"), Some(3));
    }
}
