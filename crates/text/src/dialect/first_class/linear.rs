//! Rejects stackrefs in places that cannot hold one, and instructions that would copy one.

use super::locals::Locals;
use super::{STACKREF, has_two_nulls, is_stackref};
use crate::dialect::definitions::{Slot, Table, TypeKind};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Name, Node, Tree};
use crate::error::{Error, Result};

pub(super) fn check_types(tree: &Tree<'_>) -> Result<()> {
    let mut nodes = (0..tree.len()).filter(|&node| tree.word(node) == Some(STACKREF));
    nodes.try_for_each(|node| match wrong_place(tree, node) {
        Some(why) => {
            let message = format!("a stackref is linear: {why}");
            Err(Error::invalid(tree.start(node), message))
        }
        None => Ok(()),
    })
}

/// The message for a `stackref` in a place that cannot hold one.
fn wrong_place(tree: &Tree<'_>, node: Node) -> Option<&'static str> {
    let list = tree.parent(node)?;
    let outer = tree.parent(list);
    let outer_head = outer.and_then(|outer| tree.head(outer));
    let word_before = list.checked_sub(1).and_then(|before| tree.word(before));
    match tree.head(list)? {
        "field" | "array" => {
            Some("a field or an element that holds one must be mutable, `(mut stackref)`")
        }
        "global" => Some("a global that holds one must be mutable, `(mut stackref)`"),
        "elem" => Some("it cannot be in an element segment"),
        "table" if tree.siblings(node).any(|next| tree.head(next) == Some("elem")) => {
            Some("it cannot be in an element segment")
        }
        "result" if outer_head == Some("select") || word_before == Some("select") => {
            Some("`select` would drop one of its operands")
        }
        _ => None,
    }
}

/// Checks that no standard instruction on objects copies a stackref, also in constant expressions.
pub(super) fn check_objects(lowering: &Lowering<'_, '_>) -> Result<()> {
    let tree = lowering.tree;
    for node in 0..tree.len() {
        let Some(word) = tree.word(node) else { continue };
        let Some(instead) = copies(lowering, node, word) else { continue };
        let message =
            format!("a stackref is linear: `{word}` would copy or overwrite one; use {instead}");
        return Err(Error::invalid(tree.start(node), message));
    }
    Ok(())
}

/// The replacement for an instruction on objects that would copy a stackref.
fn copies(lowering: &Lowering<'_, '_>, node: Node, word: &str) -> Option<&'static str> {
    let has_stackrefs = |ty, field| holds_stackrefs(lowering, ty, field);
    match word {
        "struct.get" | "struct.get_s" | "struct.get_u" | "struct.set" => {
            let field = lowering.tree.text(node + 2);
            has_stackrefs(node + 1, Some(field))
                .then_some("`struct.get_clear` and `struct.set_cleared`")
        }
        "array.new" | "array.new_elem" => {
            has_stackrefs(node + 1, None).then_some("`array.new_default` or `array.new_fixed`")
        }
        "array.get" | "array.get_s" | "array.get_u" | "array.set" | "array.fill"
        | "array.init_elem" | "array.copy" => {
            let is_copied = word == "array.copy" && has_stackrefs(node + 2, None);
            (is_copied || has_stackrefs(node + 1, None))
                .then_some("`array.get_clear` and `array.set_cleared`")
        }
        _ => None,
    }
}

/// Whether a field of a struct type, or the elements of an array type, hold stackrefs.
fn holds_stackrefs(lowering: &Lowering<'_, '_>, ty: Node, field: Option<&str>) -> bool {
    let name = Name::read(lowering.tree, ty);
    let ty = name.and_then(|name| lowering.module.ty(name).ok());
    let slot = match (ty.map(|ty| &ty.kind), field) {
        (Some(TypeKind::Struct(fields)), Some(field)) => fields.index(field, 0, "").ok().copied(),
        (Some(TypeKind::Array(element)), None) => Some(*element),
        _ => None,
    };
    slot.and_then(|slot| slot.ty).is_some_and(is_stackref)
}

/// In the shadow, gives initial nulls of globals and tables of stackrefs that type, if `ref.null
/// stack` is ambiguous.
pub(super) fn lower_first_nulls(lowering: &mut Lowering<'_, '_>) {
    if !has_two_nulls(lowering) {
        return;
    }
    let tree = lowering.tree;
    for node in 0..tree.len() {
        if tree.word(node) != Some("ref.null") || tree.word(node + 1) != Some("stack") {
            continue;
        }
        let around = std::iter::successors(tree.parent(node), |&list| tree.parent(list));
        let mut around =
            around.filter(|&list| matches!(tree.head(list), Some("global" | "table" | "elem")));
        let is_stackref = |list| (list..node).any(|node| tree.word(node) == Some(STACKREF));
        if around.next().is_some_and(|list| is_stackref(list) || is_moved(lowering, node)) {
            let null = format!("ref.null {}", lowering.brand(STACKREF));
            let range = tree.start(node)..tree.end(node + 1);
            lowering.edits.replace(range, Pieces::text(null, tree.start(node)));
        }
    }
}

/// Whether a folded instruction is an operand, of type stackref, of an instruction that creates an
/// object.
fn is_moved(lowering: &Lowering<'_, '_>, keyword: Node) -> bool {
    let tree = lowering.tree;
    let Some(operand) = tree.parent(keyword) else { return false };
    let Some(list) = tree.parent(operand) else { return false };
    let before = tree.between(list + 1, operand).filter(|&node| tree.is_list(node)).count();
    match tree.head(list) {
        Some("struct.new") => holds_stackrefs(lowering, list + 2, Some(&before.to_string())),
        Some("array.new_fixed") => holds_stackrefs(lowering, list + 2, None),
        _ => false,
    }
}

/// Checks that a standard instruction does not copy a stackref.
pub(super) fn check_instruction(
    lowering: &Lowering<'_, '_>,
    locals: &Locals<'_>,
    instruction: &Instruction<'_>,
) -> Result<()> {
    let (tree, module) = (lowering.tree, lowering.module);
    let index = instruction.keyword + 1;
    let is_slot = match instruction.word {
        "local.get" | "local.set" | "local.tee" => {
            locals.find(tree.text(index)).is_some_and(|local| is_stackref(local.ty))
        }
        "global.get" | "global.set" => holds_stackref(&module.globals, tree, index),
        "table.get" | "table.set" | "table.fill" | "table.grow" | "table.copy" | "table.init" => {
            let has_two = is_index(tree, index) && is_index(tree, index + 1);
            let other = if has_two { index + 1 } else { index };
            // With one index, `table.init` names a segment, and the table is the first.
            let table =
                if instruction.word == "table.init" && !has_two { tree.len() } else { index };
            holds_stackref(&module.tables, tree, table)
                || (instruction.word == "table.copy" && holds_stackref(&module.tables, tree, other))
        }
        _ => false,
    };
    if !is_slot {
        return Ok(());
    }
    let word = instruction.word;
    let instead = match word.split_once('.') {
        Some(("table", "grow")) => "`table.grow_cleared`".to_string(),
        Some((sort, _)) => format!("`{sort}.get_clear` and `{sort}.set_cleared`"),
        None => String::new(),
    };
    let message =
        format!("a stackref is linear: `{word}` would copy or overwrite one; use {instead}");
    Err(Error::invalid(instruction.at(tree), message))
}

fn is_index(tree: &Tree<'_>, node: Node) -> bool {
    tree.is_name(node) || tree.is_number(node)
}

/// Whether a global or a table holds stackrefs; without an index, the first.
fn holds_stackref(slots: &Table<Slot<'_>>, tree: &Tree<'_>, index: Node) -> bool {
    let text = if is_index(tree, index) { tree.text(index) } else { "0" };
    let slot = slots.index(text, 0, "").ok();
    slot.and_then(|slot| slot.ty).is_some_and(is_stackref)
}
