//! An instruction of a design: its immediates, and whether it is folded.

use crate::dialect::source::{Name, Node, Tree};
use crate::error::{Error, Result};

/// An instruction of a design. Its immediates are read one after another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction<'a> {
    /// The keyword.
    pub word: &'a str,
    pub keyword: Node,
    /// The list that it is the head of, if it is folded.
    pub list: Option<Node>,
    /// The first node after the immediates that were read.
    pub next: Node,
}

impl<'a> Instruction<'a> {
    /// The instruction with this keyword.
    pub fn new(tree: &Tree<'a>, keyword: Node) -> Instruction<'a> {
        let list = tree.parent(keyword).filter(|list| list + 1 == keyword);
        let word = tree.word(keyword).unwrap_or_default();
        Instruction { word, keyword, list, next: keyword + 1 }
    }

    /// Where the keyword stands.
    pub fn at(&self, tree: &Tree<'a>) -> usize {
        tree.start(self.keyword)
    }

    /// Where the keyword and the immediates that were read end.
    pub fn end(&self, tree: &Tree<'a>) -> usize {
        tree.end(self.next - 1)
    }

    /// The next immediate, a name; `what` is what it should name.
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

    /// The next immediate, if it is a name.
    pub fn optional_name(&mut self, tree: &Tree<'a>) -> Result<Option<Name<'a>>> {
        if tree.is_number(self.next) {
            return Err(numeric(tree, self.next, "what is here"));
        }
        let name = Name::read(tree, self.next);
        self.next += usize::from(name.is_some());
        Ok(name)
    }

    /// How many names, or numbers in their place, are the next immediates.
    pub fn names(&self, tree: &Tree<'a>) -> usize {
        let is_index = |node: &Node| tree.is_name(*node) || tree.is_number(*node);
        (self.next..tree.len()).take_while(is_index).count()
    }

    /// The next immediate, a name or a number, which stands for a local, a
    /// global or a table: `what` is which.
    pub fn index(&mut self, tree: &Tree<'a>, what: &str) -> Result<&'a str> {
        if tree.is_number(self.next) {
            self.next += 1;
            return Ok(tree.text(self.next - 1));
        }
        self.name(tree, what).map(|name| name.text)
    }

    /// The next immediate, a name or a number of a table; without one it is the
    /// first table. Returns where it stands, too.
    pub fn table(&mut self, tree: &Tree<'a>) -> Result<(&'a str, usize)> {
        let node = self.next;
        match tree.is_name(node) || tree.is_number(node) {
            true => Ok((self.index(tree, "a table")?, tree.start(node))),
            false => Ok(("0", self.at(tree))),
        }
    }

    /// The next immediate, if it is a list with this head, such as `(on ..)`.
    pub fn list(&mut self, tree: &Tree<'a>, head: &str) -> Option<Node> {
        let list = Some(self.next).filter(|&node| tree.head(node) == Some(head))?;
        self.next = tree.last(list) + 1;
        Some(list)
    }
}

/// Refuses a numeric index.
pub(crate) fn numeric(tree: &Tree<'_>, node: Node, what: &str) -> Error {
    let text = tree.text(node);
    let message = format!(
        "expected a name, found the number {text}: lowering a dialect adds some, \
         and numbers shift; give {what} a name and use that"
    );
    Error::malformed(tree.start(node), message)
}
