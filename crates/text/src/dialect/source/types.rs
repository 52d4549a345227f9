//! Value types and signatures of the source, and how messages print types.

use std::collections::HashSet;
use std::fmt;

use crate::binary::Types;
use crate::dialect::source::{Name, Node, Nodes, Tree};
use crate::error::{Error, Result};

/// A value type, and its offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValType<'a> {
    pub kind: ValKind<'a>,
    pub at: usize,
}

/// The forms of a value type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValKind<'a> {
    /// One word: `i32`, `funcref`, `fiberref`.
    Word(&'a str),
    /// `(ref null? ..)`.
    Ref { nullable: bool, heap: HeapType<'a> },
    /// A list without a meaning in any design: `(ref (exact $t))`.
    Verbatim(&'a str),
}

/// A heap type, and its offset.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HeapType<'a> {
    /// A word: `func`, `stack`.
    Word(&'a str, usize),
    Type(Name<'a>),
}

impl<'a> ValType<'a> {
    /// Reads the type at a node.
    pub fn read(tree: &Tree<'a>, node: Node) -> Result<ValType<'a>> {
        let kind = match (tree.word(node), tree.head(node)) {
            (Some(word), _) => ValKind::Word(word),
            (None, Some("ref")) => reference(tree, node),
            (None, Some("shared")) => ValKind::Verbatim(tree.text(node)),
            _ => return Err(no_type(tree, node)),
        };
        Ok(ValType { kind, at: tree.start(node) })
    }

    /// `(ref $name)` or `(ref null $name)`.
    pub fn reference(nullable: bool, name: Name<'a>) -> ValType<'a> {
        let kind = ValKind::Ref { nullable, heap: HeapType::Type(name) };
        ValType { kind, at: name.at }
    }

    /// The defined type that this refers to.
    pub fn type_name(&self) -> Option<Name<'a>> {
        match self.kind {
            ValKind::Ref { heap: HeapType::Type(name), .. } => Some(name),
            _ => None,
        }
    }
}

/// Says that values of the types `from` cannot be used where `to` are expected.
pub(crate) fn mismatch(from: &[ValType<'_>], to: &[ValType<'_>]) -> String {
    format!("{} does not match {}", row(from), row(to))
}

/// Prints the type as the source writes it.
impl fmt::Display for ValType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ValKind::Word(text) | ValKind::Verbatim(text) => f.write_str(text),
            ValKind::Ref { nullable, heap } => {
                let (HeapType::Word(heap, _) | HeapType::Type(Name { text: heap, .. })) = heap;
                write!(f, "(ref {}{heap})", if nullable { "null " } else { "" })
            }
        }
    }
}

/// The error for a node that is not a value type, such as a name alone.
pub(crate) fn no_type(tree: &Tree<'_>, node: Node) -> Error {
    let mut message = format!("expected a value type, found {}", tree.describe(node));
    if matches!(tree.head(node), Some("task" | "taskref")) {
        message += ": define a type `(type $t (task ..))`, and refer to it by `(ref null $t)`";
    }
    if tree.is_name(node) {
        let name = tree.text(node);
        message += &format!(": to refer to a type, write `(ref null {name})`");
    }
    Error::malformed(tree.start(node), message)
}

/// Prints `[i32 (ref $t)]`, as the source writes the types.
pub(crate) fn row(types: &[ValType<'_>]) -> String {
    let types: Vec<String> = types.iter().map(ValType::to_string).collect();
    format!("[{}]", types.join(" "))
}

/// The heap type of a nullable reference type that is one word.
pub(crate) fn abbreviated_heap_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "anyref" => "any",
        "eqref" => "eq",
        "i31ref" => "i31",
        "structref" => "struct",
        "arrayref" => "array",
        "nullref" => "none",
        "funcref" => "func",
        "nullfuncref" => "nofunc",
        "externref" => "extern",
        "nullexternref" => "noextern",
        "exnref" => "exn",
        "nullexnref" => "noexn",
        "contref" => "cont",
        "nullcontref" => "nocont",
        _ => return None,
    })
}

/// `1 value`, `2 values`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `(ref null? heap)`.
fn reference<'a>(tree: &Tree<'a>, list: Node) -> ValKind<'a> {
    let mut parts = tree.children(list).skip(1).peekable();
    let nullable = parts.next_if(|&node| tree.word(node) == Some("null")).is_some();
    let heap = parts.next().and_then(|node| match tree.word(node) {
        Some(word) => Some(HeapType::Word(word, tree.start(node))),
        None => Name::read(tree, node).map(HeapType::Type),
    });
    match (heap, parts.next()) {
        (Some(heap), None) => ValKind::Ref { nullable, heap },
        _ => ValKind::Verbatim(tree.text(list)),
    }
}

/// How messages about lowered text print types in terms of the source: pairs of a type in the
/// lowered text and in the source.
#[derive(Debug)]
pub(crate) struct TypeWords {
    pub words: Vec<(String, String)>,
    /// Names that lowering added, without their `$`.
    pub added: HashSet<String>,
}

impl TypeWords {
    /// Rewrites a message about lowered text for the source. An added type is printed by its
    /// structure, not by its name.
    pub fn in_source(&self, message: String, binary: &[u8]) -> String {
        let mut message = self.replaced(message);
        if let Some(instead) = instead_of_ref_eq(&message) {
            message += &format!("; use `{instead}`");
        }
        let mut parts = message.split('$');
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| {
            let end = part.find([' ', ')', ',', ';', '`']).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            match self.structure(name, binary) {
                Some(structure) => text + &structure + rest,
                None => text + "$" + part,
            }
        })
    }

    fn replaced(&self, message: String) -> String {
        self.words.iter().fold(message, |text, (from, to)| text.replace(from, to))
    }

    /// The structure of an added type.
    fn structure(&self, name: &str, binary: &[u8]) -> Option<String> {
        if !self.added.contains(name) {
            return None;
        }
        let types = Types::read(binary);
        let index = types.named(&format!("${name}"))?;
        Some(self.replaced(types.structure(index)))
    }
}

/// The instruction that compares tasks or fibers, if the message is that `ref.eq` does not.
fn instead_of_ref_eq(message: &str) -> Option<&'static str> {
    let found = message.strip_prefix("type mismatch: expected subtype of eqref, found ")?;
    match found {
        "fiberref" | "(ref fiber)" => Some("fiber.eq"),
        "taskref" | "(ref task)" => Some("task.eq"),
        _ => None,
    }
}

/// Parameters and results.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signature<'a> {
    pub params: Vec<ValType<'a>>,
    pub results: Vec<ValType<'a>>,
}

impl<'a> Signature<'a> {
    /// Reads all `(param ..)` and `(result ..)` that follow.
    pub fn read(tree: &Tree<'a>, nodes: &mut Nodes<'_, 'a>) -> Result<Signature<'a>> {
        let mut signature = Signature::default();
        loop {
            let types = match tree.head(nodes.peek()) {
                Some("param") if !signature.results.is_empty() => {
                    let message = "unexpected `(param ..)`: parameters come before results";
                    return Err(Error::malformed(tree.start(nodes.peek()), message));
                }
                Some("param") => &mut signature.params,
                Some("result") => &mut signature.results,
                _ => return Ok(signature),
            };
            if let Some(list) = nodes.next() {
                types.extend(list_of_types(tree, list)?);
            }
        }
    }
}

/// The types in `(param $x i32)` or `(param i32 i64)`.
pub(crate) fn list_of_types<'a>(tree: &Tree<'a>, list: Node) -> Result<Vec<ValType<'a>>> {
    let first = tree.children(list).nth(1);
    let named = first.filter(|&node| tree.is_name(node) && tree.head(list) != Some("result"));
    let nodes = tree.children(list).skip(if named.is_some() { 2 } else { 1 });
    let types: Vec<_> = nodes.map(|node| ValType::read(tree, node)).collect::<Result<_>>()?;
    match named {
        Some(name) if types.len() != 1 => {
            let message = format!("expected exactly one type after {}", tree.describe(name));
            Err(Error::malformed(tree.start(name), message))
        }
        _ => Ok(types),
    }
}
