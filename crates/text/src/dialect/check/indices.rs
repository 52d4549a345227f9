//! Rejects numeric indices of types, functions, tags and labels.
//!
//! Lowering adds types, functions and blocks, which changes the meaning of such an index. Indices
//! of locals, globals, tables, memories, fields and segments keep their meaning.

use crate::dialect::source::{Node, Tree, numeric};
use crate::error::Result;

/// An index space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexSpace {
    Type,
    Function,
    Tag,
    Label,
}

pub(crate) fn check(tree: &Tree<'_>) -> Result<()> {
    each(tree, |space, node| refuse(tree, node, space))
}

/// Visits each node in the position of a type, function, tag or label index.
pub(crate) fn each(
    tree: &Tree<'_>,
    mut visit: impl FnMut(IndexSpace, Node) -> Result<()>,
) -> Result<()> {
    (0..tree.len()).try_for_each(|node| match tree.word(node) {
        Some("elem") => segment(tree, node, &mut visit),
        Some(word) => immediates(tree, node, word, &mut visit),
        None => Ok(()),
    })
}

/// Visits the indices that follow a keyword.
fn immediates(
    tree: &Tree<'_>,
    keyword: Node,
    word: &str,
    visit: &mut impl FnMut(IndexSpace, Node) -> Result<()>,
) -> Result<()> {
    let (spaces, repeated) = spaces(word);
    let mut nodes = tree.siblings(keyword);
    for &space in spaces {
        match nodes.next() {
            Some(node) => visit(space, node)?,
            None => return Ok(()),
        }
    }
    let mut indices = nodes.take_while(|&node| tree.is_name(node) || tree.is_number(node));
    repeated.map_or(Ok(()), |space| indices.try_for_each(|node| visit(space, node)))
}

fn refuse(tree: &Tree<'_>, node: Node, space: IndexSpace) -> Result<()> {
    let what = match space {
        IndexSpace::Type => "the type",
        IndexSpace::Function => "the function",
        IndexSpace::Tag => "the tag",
        IndexSpace::Label => "the label",
    };
    if tree.is_number(node) { Err(numeric(tree, node, what)) } else { Ok(()) }
}

/// The spaces of the indices after a keyword: one each, and then one for all that follow.
fn spaces(word: &str) -> (&'static [IndexSpace], Option<IndexSpace>) {
    use IndexSpace::{Function, Label, Tag, Type};
    match word {
        "call" | "return_call" | "ref.func" | "start" => (&[Function], None),
        "func" => (&[], Some(Function)),
        "tag" | "throw" | "suspend" => (&[Tag], None),
        "br" | "br_if" | "br_on_null" | "br_on_non_null" | "br_on_cast" | "br_on_cast_fail"
        | "catch_all" | "catch_all_ref" => (&[Label], None),
        "br_table" => (&[], Some(Label)),
        "catch" | "catch_ref" | "on" => (&[Tag, Label], None),
        "type" | "ref" | "null" | "ref.null" | "cont" | "exact" | "descriptor" | "describes"
        | "call_ref" | "return_call_ref" | "cont.new" | "resume" | "resume_throw_ref" => {
            (&[Type], None)
        }
        "sub" | "final" => (&[], Some(Type)),
        "cont.bind" | "array.copy" => (&[Type, Type], None),
        "resume_throw" | "switch" => (&[Type, Tag], None),
        _ if word.starts_with("struct.") || word.starts_with("array.") => (&[Type], None),
        _ => (&[], None),
    }
}

/// Visits the functions in an element segment. A number between `elem` and a list is a table.
fn segment(
    tree: &Tree<'_>,
    keyword: Node,
    visit: &mut impl FnMut(IndexSpace, Node) -> Result<()>,
) -> Result<()> {
    let mut nodes = tree.siblings(keyword).peekable();
    let first = nodes.next_if(|&node| tree.is_number(node));
    if let Some(first) = first
        && !nodes.peek().is_some_and(|&node| tree.is_list(node))
    {
        visit(IndexSpace::Function, first)?;
    }
    nodes.try_for_each(|node| visit(IndexSpace::Function, node))
}
