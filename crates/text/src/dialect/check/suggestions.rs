//! Suggestions for misplaced words that resemble those of a design. The standard parser does not
//! know the designs and would list only standard words.

use crate::dialect::design::DESIGNS;
use crate::dialect::source::{Node, Tree, Word, WordPlace, Words, no_type};
use crate::error::{Error, Result};

/// Rejects an unrecognized word that resembles one of a design.
pub(crate) fn check(words: &Words<'_, '_>, node: Node) -> Result<()> {
    let word = words.word(node);
    match word.and_then(|word| Some((advice(&word)?, word))) {
        None => Ok(()),
        Some((message, word)) => Err(Error::malformed(word.tree.start(node), message)),
    }
}

/// Rejects a name or the definition of a task type in place of a value type, as in
/// `(local $x $t)` and `(param (taskref () ()))`, which the document on tasks uses.
pub(crate) fn check_types(tree: &Tree<'_>, list: Node) -> Result<()> {
    let named = match tree.head(list) {
        Some("param" | "local") => 1,
        Some("result") => 0,
        _ => return Ok(()),
    };
    let misplaced = tree
        .children(list)
        .skip(1 + named)
        .find(|&node| tree.is_name(node) || matches!(tree.head(node), Some("task" | "taskref")));
    misplaced.map_or(Ok(()), |node| Err(no_type(tree, node)))
}

/// Rejects a word that was an instruction in an earlier draft of a design.
pub(crate) fn check_renamed(words: &Words<'_, '_>) -> Result<()> {
    let renamed = |node| {
        let word = words.word(node)?;
        let new = DESIGNS.iter().find_map(|design| design.new_name(&word))?;
        let old = word.text;
        let message = format!("unknown operator `{old}`: it was renamed to `{new}`");
        Some(Error::malformed(word.tree.start(node), message))
    };
    words.nodes().find_map(renamed).map_or(Ok(()), Err)
}

fn advice(word: &Word<'_, '_>) -> Option<String> {
    let text = word.text;
    Some(match text {
        "task" | "taskref" if word.place == WordPlace::Field => definition(text, "task"),
        "stack" if word.place == WordPlace::Field => definition(text, "stack"),
        "task" if word.place == WordPlace::Plain => value_type(text, "`taskref` or `(ref task)`"),
        "task" | "taskref" if word.place == WordPlace::Folded => definition(text, "task"),
        "taskref" if word.is_heap_type() => heap_type(text, "task"),
        "fiberref" if word.is_heap_type() => heap_type(text, "fiber"),
        "stackref" if word.is_heap_type() => format!(
            "unexpected token: `{text}` is a value type and has no heap type; its null is \
             `ref.null stack`"
        ),
        "fiber" => value_type(text, "`fiberref` or `(ref fiber)`"),
        "stack" => value_type(text, "`(ref null stack)`, or `stackref` for a first-class stack"),
        "nostack" => value_type(text, "`(ref null nostack)`"),
        _ if word.is_instruction() => instruction(text)?,
        _ => return None,
    })
}

fn definition(text: &str, kind: &str) -> String {
    format!("unexpected token `{text}`: a {kind} type is defined by `(type $t ({kind} ..))`")
}

fn heap_type(text: &str, instead: &str) -> String {
    format!("unexpected token: `{text}` is a value type; the heap type is `{instead}`")
}

fn value_type(text: &str, instead: &str) -> String {
    format!("unexpected token: `{text}` is not a value type; write {instead}")
}

/// The message for an unknown instruction whose prefix belongs to some design.
fn instruction(text: &str) -> Option<String> {
    if let Some(instead) = of_documents(text) {
        return Some(format!("unknown operator `{text}`: {instead}"));
    }
    let (start, _) = text.split_once('.')?;
    if !matches!(start, "stack" | "task" | "fiber") {
        return None;
    }
    let all = DESIGNS.iter().flat_map(|design| design.instructions);
    let similar = all.filter(|word| word.split_once('.').is_some_and(|(other, _)| other == start));
    let similar: Vec<String> = similar.map(|word| format!("`{word}`")).collect();
    Some(format!("unknown operator `{text}`: expected one of {}", similar.join(", ")))
}

/// What to write in place of an instruction that only the examples in the documents have.
fn of_documents(text: &str) -> Option<String> {
    if let Some(place) = text.strip_suffix(".set_clear") {
        return Some(format!("write `{place}.set_cleared`"));
    }
    let instead = match text {
        "let" => "declare a local with `(local $x ..)` at the beginning of the function",
        "handle" => "handle the events of a fiber with clauses, `fiber.mount $e (on $e1 $l)`",
        "event.switch" => {
            "name events in clauses, `fiber.new (on $e $f)`, `fiber.mount $e (on $e $l)`"
        }
        _ => return None,
    };
    Some(instead.to_string())
}
