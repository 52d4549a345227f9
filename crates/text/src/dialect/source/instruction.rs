//! An instruction of a design: its immediates, and whether it is folded.

use crate::dialect::source::{Name, Node, Tree};
use crate::error::{Error, Result};

/// An instruction of a design. Its immediates are read one after another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction<'a> {
    pub word: &'a str,
    pub keyword: Node,
    /// The list of a folded instruction.
    pub list: Option<Node>,
    /// The first node after the immediates read so far.
    pub next: Node,
}

impl<'a> Instruction<'a> {
    pub fn new(tree: &Tree<'a>, keyword: Node) -> Instruction<'a> {
        let list = tree.parent(keyword).filter(|list| list + 1 == keyword);
        let word = tree.word(keyword).unwrap_or_default();
        Instruction { word, keyword, list, next: keyword + 1 }
    }

    /// The offset of the keyword.
    pub fn at(&self, tree: &Tree<'a>) -> usize {
        tree.start(self.keyword)
    }

    /// The offset after the keyword and the immediates read so far.
    pub fn end(&self, tree: &Tree<'a>) -> usize {
        tree.end(self.next - 1)
    }

    /// Reads an immediate that is a name; `what` describes it in errors.
    pub fn name(&mut self, tree: &Tree<'a>, what: &str) -> Result<Name<'a>> {
        let node = self.next;
        match self.optional_name(tree)? {
            Some(name) => Ok(name),
            None => {
                let (word, found) = (self.word, tree.describe(node));
                let message = format!("`{word}` expects the name of {what} here, found {found}");
                Err(Error::malformed(tree.start(node), message))
            }
        }
    }

    /// Reads an immediate if it is a name.
    pub fn optional_name(&mut self, tree: &Tree<'a>) -> Result<Option<Name<'a>>> {
        if tree.is_number(self.next) {
            return Err(numeric(tree, self.next, "the operand"));
        }
        let name = Name::read(tree, self.next);
        self.next += usize::from(name.is_some());
        Ok(name)
    }

    /// The number of names and numbers that follow.
    pub fn names(&self, tree: &Tree<'a>) -> usize {
        let is_index = |node: &Node| tree.is_name(*node) || tree.is_number(*node);
        (self.next..tree.len()).take_while(is_index).count()
    }

    /// Reads an immediate that is a name or an index; `what` describes it in errors.
    pub fn index(&mut self, tree: &Tree<'a>, what: &str) -> Result<&'a str> {
        if tree.is_number(self.next) {
            self.next += 1;
            return Ok(tree.text(self.next - 1));
        }
        self.name(tree, what).map(|name| name.text)
    }

    /// Reads the name or index of a table, which defaults to table 0, and returns its offset too.
    pub fn table(&mut self, tree: &Tree<'a>) -> Result<(&'a str, usize)> {
        let node = self.next;
        match tree.is_name(node) || tree.is_number(node) {
            true => Ok((self.index(tree, "a table")?, tree.start(node))),
            false => Ok(("0", self.at(tree))),
        }
    }

    /// Reads an immediate if it is a list with this head, such as `(on ..)`.
    pub fn list(&mut self, tree: &Tree<'a>, head: &str) -> Option<Node> {
        let list = Some(self.next).filter(|&node| tree.head(node) == Some(head))?;
        self.next = tree.last(list) + 1;
        Some(list)
    }
}

/// The error for a numeric index.
pub(crate) fn numeric(tree: &Tree<'_>, node: Node, what: &str) -> Error {
    let text = tree.text(node);
    let message = format!(
        "expected a name, found the number {text}: a dialect module refers to it by name, because \
         lowering changes the numbers; give {what} a name"
    );
    Error::malformed(tree.start(node), message)
}
