//! Walks through a module from front to back, and has the designs lower their words.

use crate::dialect::check::suggestions;
use crate::dialect::definitions::{Header, TypeKind};
use crate::dialect::design::{Design, Role};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Nodes, Words};
use crate::error::{Error, Result};

/// Lowers the fields of a module.
pub(crate) fn walk<'a>(
    lowering: &mut Lowering<'a, '_>,
    words: &Words<'_, 'a>,
    fields: Nodes<'_, 'a>,
) -> Result<()> {
    let designs = words.designs();
    for design in &designs {
        (design.prepare)(lowering)?;
    }
    for field in fields {
        if is_function(lowering, words, field) {
            lowering.enter_function(locals_at(lowering, field)?);
            designs.iter().try_for_each(|design| (design.enter_function)(lowering, field))?;
        }
        nodes(lowering, words, field)?;
        lowering.leave_function();
    }
    Ok(())
}

fn is_function(lowering: &Lowering<'_, '_>, words: &Words<'_, '_>, field: Node) -> bool {
    let is_of_design = || matches!(words.find(field + 1), Some((_, Role::Function)));
    lowering.tree.head(field).is_some_and(|head| head == "func" || is_of_design())
}

/// The offset at which a function declares further locals: after its own.
fn locals_at(lowering: &Lowering<'_, '_>, field: Node) -> Result<usize> {
    let body = Header::read(lowering.tree, field)?.body(lowering.tree, field);
    Ok(lowering.tree.end(body - 1))
}

fn nodes<'a>(lowering: &mut Lowering<'a, '_>, words: &Words<'_, 'a>, field: Node) -> Result<()> {
    let mut node = field;
    while node <= lowering.tree.last(field) {
        node = match words.find(node) {
            Some((design, role)) => word(lowering, design, role, node)?,
            None if lowering.tree.is_list(node) => {
                suggestions::check_types(lowering.tree, node)?;
                list(lowering, node)?
            }
            None => {
                suggestions::check(words, node)?;
                node + 1
            }
        };
    }
    Ok(())
}

/// Lowers a word of a design, and returns the node to continue with.
fn word<'a>(
    lowering: &mut Lowering<'a, '_>,
    design: &'static Design,
    role: Role,
    node: Node,
) -> Result<Node> {
    let tree = lowering.tree;
    let text = tree.word(node).unwrap_or_default();
    match role {
        Role::Type => {}
        Role::HeapType => {
            let replacement = (design.heap_type)(lowering, text);
            replacement.into_iter().for_each(|text| lowering.replace_word(node, text));
        }
        Role::ValueType => {
            let replacement = (design.value_type)(lowering, text);
            replacement.into_iter().for_each(|text| lowering.replace_word(node, text));
        }
        Role::Field | Role::Function => (design.lower_field)(lowering, node - 1)?,
        Role::Instruction => {
            let mut instruction = Instruction::new(tree, node);
            if !lowering.is_in_function() {
                return Err(outside(lowering, &instruction));
            }
            (design.lower)(lowering, &mut instruction)?;
            return Ok(instruction.next);
        }
    }
    Ok(node + 1)
}

/// The error for an instruction of a design in a constant expression.
fn outside(lowering: &Lowering<'_, '_>, instruction: &Instruction<'_>) -> Error {
    let word = instruction.word;
    let message = format!("constant expression required: `{word}` is allowed only in functions");
    Error::invalid(instruction.at(lowering.tree), message)
}

/// Defines the type of a design, or enters any other list.
fn list(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<Node> {
    let Some(definition) = lowering.module.type_at(list) else { return Ok(list + 1) };
    let TypeKind::Design(design, _) = definition.kind else { return Ok(list + 1) };
    let tree = lowering.tree;
    let types = (design.define)(lowering, definition)?;
    // Also for a single type, so that a signature without a type never means it.
    let pieces = match definition.is_grouped {
        true => spaced(types, definition.at),
        false => group(types, definition.at),
    };
    lowering.edits.replace(tree.start(list)..tree.end(list), pieces);
    Ok(tree.last(list) + 1)
}

fn group(types: Vec<Pieces>, at: usize) -> Pieces {
    let mut pieces = Pieces::text("(rec ", at);
    pieces.append(spaced(types, at));
    pieces.push(")", at);
    pieces
}

fn spaced(types: Vec<Pieces>, at: usize) -> Pieces {
    let mut pieces = Pieces::new();
    for (number, ty) in types.into_iter().enumerate() {
        pieces.push(if number > 0 { " " } else { "" }, at);
        pieces.append(ty);
    }
    pieces
}
