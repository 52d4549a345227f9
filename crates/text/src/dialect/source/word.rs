//! Words: the context of a keyword, and the design that it belongs to.

use crate::dialect::design::{DESIGNS, Design, Role};
use crate::dialect::first_class::{FIRST_CLASS, is_place_word};
use crate::dialect::source::{Node, Tree};

/// A keyword and its context.
#[derive(Debug)]
pub(crate) struct Word<'t, 'a> {
    pub text: &'a str,
    pub place: WordPlace,
    pub node: Node,
    pub tree: &'t Tree<'a>,
    /// Whether the module has first-class stacks, so that `ref.null stack` may be one.
    pub has_first_class: bool,
}

/// The context of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordPlace {
    /// The head of a list in `(type ..)` or `(sub ..)`.
    Type,
    HeapType,
    /// After `ref.null`.
    Null,
    /// The head of a field of the module.
    Field,
    /// The head of a list in `(import ..)` or `(export ..)`.
    Description,
    /// The head of any other list: a folded instruction.
    Folded,
    /// Anywhere else: a plain instruction, or a value type.
    Plain,
}

impl<'a> Word<'_, 'a> {
    /// The number of names and numbers that follow the word.
    pub fn indices(&self) -> usize {
        let is_index = |node: &Node| self.tree.is_name(*node) || self.tree.is_number(*node);
        self.tree.siblings(self.node).take_while(is_index).count()
    }

    /// Whether an instruction is allowed here.
    pub fn is_instruction(&self) -> bool {
        matches!(self.place, WordPlace::Folded | WordPlace::Plain)
    }

    pub fn is_heap_type(&self) -> bool {
        matches!(self.place, WordPlace::HeapType | WordPlace::Null)
    }
}

/// The words of the designs in the text of a module.
#[derive(Debug)]
pub(crate) struct Words<'t, 'a> {
    tree: &'t Tree<'a>,
    /// The list `(module ..)`, unless the text is fields alone.
    module: Option<Node>,
    pub has_first_class: bool,
}

impl<'t, 'a> Words<'t, 'a> {
    pub fn new(tree: &'t Tree<'a>, module: Option<Node>) -> Words<'t, 'a> {
        let words = Words { tree, module, has_first_class: false };
        let is_first_class = |node| {
            let word = words.word(node).filter(|word| !is_place_word(word.text));
            word.is_some_and(|word| FIRST_CLASS.role(&word).is_some())
        };
        let has_first_class = words.nodes().any(is_first_class);
        Words { has_first_class, ..words }
    }

    pub fn are_there(&self) -> bool {
        self.nodes().any(|node| self.find(node).is_some())
    }

    pub fn nodes(&self) -> std::ops::Range<Node> {
        match self.module {
            Some(module) => module..self.tree.last(module),
            None => 0..self.tree.len(),
        }
    }

    /// The keyword at a node.
    pub fn word(&self, node: Node) -> Option<Word<'t, 'a>> {
        Some(Word {
            text: self.tree.word(node)?,
            place: self.place(node),
            node,
            tree: self.tree,
            has_first_class: self.has_first_class,
        })
    }

    /// The design of a word, and its role in it.
    pub fn find(&self, node: Node) -> Option<(&'static Design, Role)> {
        let word = self.word(node)?;
        DESIGNS.iter().find_map(|&design| Some((design, design.role(&word)?)))
    }

    /// The designs with a word in the module, each once.
    pub fn designs(&self) -> Vec<&'static Design> {
        let mut found = vec![false; DESIGNS.len()];
        for (design, _) in self.nodes().filter_map(|node| self.find(node)) {
            let same = |other: &&Design| other.name == design.name;
            if let Some(index) = DESIGNS.iter().position(same) {
                found[index] = true;
            }
        }
        DESIGNS.iter().zip(found).filter_map(|(&design, found)| found.then_some(design)).collect()
    }

    /// Whether an `(item ..)` belongs to a group of imports.
    fn is_import(&self, item: Option<Node>) -> bool {
        let group = item.and_then(|item| self.tree.parent(item));
        group.is_some_and(|group| self.tree.head(group) == Some("import"))
    }

    fn place(&self, node: Node) -> WordPlace {
        let tree = self.tree;
        let list = tree.parent(node);
        match list {
            Some(list) if list + 1 == node => self.place_of_head(list),
            Some(list) if tree.head(list) == Some("ref") => WordPlace::HeapType,
            _ if node > 0 && tree.word(node - 1) == Some("ref.null") => WordPlace::Null,
            _ => WordPlace::Plain,
        }
    }

    fn place_of_head(&self, list: Node) -> WordPlace {
        let outer = self.tree.parent(list);
        if outer == self.module {
            return WordPlace::Field;
        }
        match outer.and_then(|outer| self.tree.head(outer)) {
            Some("type" | "sub") => WordPlace::Type,
            Some("import" | "export") => WordPlace::Description,
            Some("item") if self.is_import(outer) => WordPlace::Description,
            _ => WordPlace::Folded,
        }
    }
}
