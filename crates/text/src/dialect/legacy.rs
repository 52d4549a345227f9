//! Finds exception handling of the legacy proposal, which has `try` as the dialect of first-class
//! stacks has.

use crate::error::Error;

use super::source::{Node, Tree};

/// The message for a module that uses exceptions of the legacy proposal.
pub const LEGACY_EXCEPTIONS: &str = "legacy exceptions are not supported, only those of \
    WebAssembly 3.0: Binaryen translates them with `wasm-opt --all-features --translate-to-exnref`";

/// Explains an error in a function with a legacy `try`: returns an error about that `try`. A source
/// with first-class stacks has no legacy ones.
pub(crate) fn explain(source: &str, error: Error) -> Error {
    if !source.contains("try") {
        return error;
    }
    let tree = Tree::parse(source, 0..source.len());
    if (0..tree.len()).filter_map(|node| tree.word(node)).any(is_first_class) {
        return error;
    }
    let has_error =
        |node: &Node| tree.start(*node) <= error.offset && error.offset < tree.end(*node);
    let is_function = |node: &Node| tree.head(*node) == Some("func") && has_error(node);
    let legacy = (0..tree.len()).find(is_function).and_then(|function| legacy_try(&tree, function));
    match legacy {
        Some(legacy) => Error::malformed(tree.start(legacy), LEGACY_EXCEPTIONS),
        None => error,
    }
}

fn is_first_class(word: &str) -> bool {
    matches!(word, "stackref" | "rout" | "event" | "answer") || word.starts_with("stack.")
}

/// The first `try` of a function, if the function has parts that only the legacy one has.
fn legacy_try(tree: &Tree<'_>, function: Node) -> Option<Node> {
    let mut nodes = function..tree.last(function);
    let first = nodes.find(|node| tree.word(*node) == Some("try"))?;
    let is_head = |node: Node| node > 0 && tree.is_list(node - 1);
    let is_legacy = |node: Node| match tree.word(node) {
        Some("do") => is_head(node),
        Some("rethrow" | "delegate") => true,
        Some("catch_all") => !is_head(node),
        // `catch $e` without the label that the dialect has there.
        Some("catch") => {
            !is_head(node) && !tree.siblings(node).nth(1).is_some_and(|label| tree.is_name(label))
        }
        _ => false,
    };
    nodes.any(is_legacy).then_some(first)
}
