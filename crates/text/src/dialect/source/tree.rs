//! The tree of a text: words and lists, with their places.
//!
//! The tree is flat. It is the row of all tokens that mean something (white
//! space, comments and annotations are left out), and for each opening
//! parenthesis the place of the closing one. A *node* is the number of a
//! token: a word, or the parenthesis that opens a list. So no text, however
//! deeply nested, needs deep recursion.

use std::ops::Range;

use wast::lexer::{Lexer, Token, TokenKind};

use crate::error::{Error, Result};

/// The number of a token. It stands for a word, or for the list that it opens.
pub(crate) type Node = usize;

/// The words and lists of a part of a source.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    source: &'a str,
    range: Range<usize>,
    tokens: Vec<Token>,
    /// For each token the last one of its node, and the list it is in.
    ends: Vec<Node>,
    parents: Vec<Option<Node>>,
    fault: Option<Error>,
    /// Where the last token that could be read ends.
    readable: usize,
}

impl<'a> Tree<'a> {
    /// The tree of a part of a source. If that cannot be read whole, the tree
    /// is of what could be read, with parentheses that match, and has a fault.
    pub fn parse(source: &'a str, range: Range<usize>) -> Tree<'a> {
        let mut tree = Tree {
            source,
            range: range.clone(),
            tokens: Vec::new(),
            ends: Vec::new(),
            parents: Vec::new(),
            fault: None,
            readable: range.start,
        };
        let mut open = Vec::new();
        let read = read_tokens(source, &range, |token| tree.push(token, &mut open));
        tree.fault = read.err();
        tree.readable =
            tree.tokens.last().map_or(range.start, |last| last.offset + last.len as usize);
        while !open.is_empty() {
            let message = "expected `)`: a parenthesis is not closed";
            tree.fault.get_or_insert_with(|| Error::malformed(range.end, message));
            let close = Token { kind: TokenKind::RParen, offset: range.end, len: 0 };
            tree.close(close, &mut open);
        }
        tree
    }

    /// Adds a token; `open` are the lists that are not closed yet.
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

    /// Closes the last list that is open.
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

    /// Why the source cannot be read, if it cannot.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// Where the last token that could be read ends in the source.
    pub fn readable(&self) -> usize {
        self.readable
    }

    /// The whole source; the tree may be of a part of it.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// The part of the source of which this is the tree.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The words and lists that are in no list.
    pub fn top(&self) -> Nodes<'_, 'a> {
        Nodes { tree: self, next: 0, end: self.len() }
    }

    /// The words and lists in a list, its first word included.
    pub fn children(&self, list: Node) -> Nodes<'_, 'a> {
        Nodes { tree: self, next: list + 1, end: self.ends[list] }
    }

    /// What follows after a node in the same list.
    pub fn siblings(&self, node: Node) -> Nodes<'_, 'a> {
        let end = self.parents[node].map_or(self.len(), |list| self.ends[list]);
        Nodes { tree: self, next: self.ends[node] + 1, end }
    }

    /// The words and lists from one node on, up to another.
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

    /// The keyword that a node is.
    pub fn word(&self, node: Node) -> Option<&'a str> {
        (self.kind(node) == Some(TokenKind::Keyword)).then(|| self.text(node))
    }

    /// The keyword with which a list begins.
    pub fn head(&self, list: Node) -> Option<&'a str> {
        self.is_list(list).then(|| self.word(list + 1)).flatten()
    }

    /// Whether one of these words stands where a type is used: not as the head
    /// of a list.
    pub fn has_type_word(&self, words: &[&str]) -> bool {
        let is_head = |node: Node| self.parent(node).is_some_and(|list| list + 1 == node);
        let is_one = |node| self.word(node).is_some_and(|word| words.contains(&word));
        (0..self.len()).any(|node| is_one(node) && !is_head(node))
    }

    /// The list that a node is in.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.parents.get(node).copied().flatten()
    }

    /// The last token of a node: the parenthesis that closes it, if a list.
    pub fn last(&self, node: Node) -> Node {
        self.ends[node]
    }

    /// Where a node starts in the source.
    pub fn start(&self, node: Node) -> usize {
        self.tokens.get(node).map_or(self.range.end, |token| token.offset)
    }

    /// Where a node ends in the source.
    pub fn end(&self, node: Node) -> usize {
        let last = &self.tokens[self.ends[node]];
        last.offset + last.len as usize
    }

    /// The source of a node.
    pub fn text(&self, node: Node) -> &'a str {
        &self.source[self.start(node)..self.end(node)]
    }

    /// A node in an error: its source if it is short, or what it is.
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

/// A row of words and lists.
#[derive(Debug, Clone)]
pub(crate) struct Nodes<'t, 'a> {
    tree: &'t Tree<'a>,
    next: Node,
    end: Node,
}

impl Nodes<'_, '_> {
    /// The node that is next, or the token after the last one.
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

/// Reads the tokens of a part of a source that mean something.
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

/// Goes after the parenthesis that closes an annotation.
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
        assert_eq!(tree.fault(), None);
        let text = |nodes: Nodes<'_, '_>| nodes.map(|node| tree.text(node)).collect::<Vec<_>>();
        assert_eq!(tree.top().count(), 2);
        assert_eq!(text(tree.children(0)), ["a", "$b", "(c 1)", "\"s\"", "d"]);
        assert_eq!(text(tree.siblings(2)), ["(c 1)", "\"s\"", "d"]);
        assert_eq!(tree.head(3), Some("c"));
        assert_eq!(tree.parent(4), Some(3));
    }

    #[test]
    fn parentheses_must_match() {
        let fault = |source| Tree::parse(source, 0..source.len()).fault().map(|fault| fault.offset);
        assert_eq!(fault("(a (b)"), Some(6));
        assert_eq!(fault("(a))"), Some(3));
        assert_eq!(fault("(@a (b)"), Some(7));
        assert_eq!(fault("(a \u{1}"), Some(3));
    }
}
