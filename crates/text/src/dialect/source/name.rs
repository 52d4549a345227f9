//! Names of the source, and new names that clash with none of them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use wast::lexer::Lexer;

use crate::dialect::source::{Node, Tree};

/// A name as the source writes it, `$x` or `$"x"`, and its offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Name<'a> {
    pub fn read(tree: &Tree<'a>, node: Node) -> Option<Name<'a>> {
        tree.is_name(node).then(|| Name { text: tree.text(node), at: tree.start(node) })
    }

    /// The name without its syntax: equal for `$x` and `$"x"`.
    pub fn key(&self) -> Cow<'a, str> {
        key(self.text)
    }
}

fn key(text: &str) -> Cow<'_, str> {
    let token = Lexer::new(text).parse(&mut 0).ok().flatten();
    token.and_then(|token| token.id(text).ok()).unwrap_or(Cow::Borrowed(text))
}

#[derive(Debug, Clone)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// How often `fresh` was called for each name.
    wishes: HashMap<String, usize>,
    /// The new names, without their `$`.
    added: HashSet<String>,
}

impl Names {
    /// All names in a source, whatever they refer to.
    pub fn of(tree: &Tree<'_>) -> Names {
        let names = (0..tree.len()).filter_map(|node| Name::read(tree, node));
        let taken = names.map(|name| name.key().into_owned()).collect();
        Names { taken, wishes: HashMap::new(), added: HashSet::new() }
    }

    /// Returns a new name that resembles `wish`, which has no `$`.
    pub fn fresh(&mut self, wish: &str) -> String {
        let wish: String = wish.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let number = self.wishes.entry(wish.clone()).or_insert(0);
        loop {
            let name = if *number == 0 { wish.clone() } else { format!("{wish}.{number}") };
            *number += 1;
            if self.taken.insert(name.clone()) {
                self.added.insert(name.clone());
                return format!("${name}");
            }
        }
    }

    pub fn into_added(self) -> HashSet<String> {
        self.added
    }

    /// Returns a new name for something that belongs to `owner`: `$x.func` for `$x`.
    pub fn fresh_for(&mut self, owner: Option<Name<'_>>, what: &str) -> String {
        match owner {
            Some(owner) => self.fresh(&format!("{}.{what}", owner.key())),
            None => self.fresh(what),
        }
    }
}

/// Whether a character needs no quotes in a name.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-./:<=>?@\\^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_clash_with_none() {
        let source = r#"(func $f $"g.1" $g)"#;
        let tree = Tree::parse(source, 0..source.len());
        let mut names = Names::of(&tree);
        assert_eq!(names.fresh("f"), "$f.1");
        assert_eq!(names.fresh("g"), "$g.2");
        assert_eq!(names.fresh("h"), "$h");
        assert_eq!(names.fresh("h"), "$h.1");
        assert_eq!(names.fresh_for(Name::read(&tree, 3), "a b"), "$g.1.a_b");
    }
}
