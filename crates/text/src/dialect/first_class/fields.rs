//! Reads and lowers events, call tags and routs.

use crate::dialect::check::indices::{self, IndexSpace};
use crate::dialect::definitions::{Header, Item, Module};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Name, Node, Tree};
use crate::error::{Error, Result};

/// Reads a field, or its description in an import.
pub(super) fn read<'a>(tree: &Tree<'a>, list: Node, module: &mut Module<'a>) -> Result<()> {
    let header = Header::read(tree, list)?;
    let items = match tree.head(list) {
        Some("event") => &mut module.tags,
        Some("call_tag") => &mut module.call_tags,
        _ => &mut module.routs,
    };
    items.add(header.name, header.item);
    Ok(())
}

/// Checks that no rout is used as a function and no call tag as a tag.
pub(super) fn check_names(lowering: &Lowering<'_, '_>) -> Result<()> {
    let (tree, module) = (lowering.tree, lowering.module);
    indices::each(tree, |space, node| match (Name::read(tree, node), space) {
        (Some(name), IndexSpace::Function) if module.routs.has(name) => {
            module.function(name).map(drop)
        }
        (Some(name), IndexSpace::Tag) if module.call_tags.has(name) => module.tag(name).map(drop),
        _ => Ok(()),
    })
}

/// Lowers a field, or its description in an import or export.
pub(super) fn lower(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let tree = lowering.tree;
    let is_export = tree.parent(list).is_some_and(|outer| tree.head(outer) == Some("export"));
    match tree.head(list) {
        Some("event") if is_export => export(lowering, list, |module, name| module.tag(name)),
        Some("event") => event(lowering, list),
        Some("call_tag") if is_export => export(lowering, list, call_tag),
        Some("call_tag") => define_call_tag(lowering, list),
        _ => rout(lowering, list),
    }
}

/// `(export "a" (event $e))`.
fn export<'a, 'm>(
    lowering: &mut Lowering<'a, 'm>,
    list: Node,
    find: fn(&'m Module<'a>, Name<'a>) -> Result<&'m Item<'a>>,
) -> Result<()> {
    let tree = lowering.tree;
    let Some(name) = Name::read(tree, list + 2) else {
        let found = tree.describe(list + 2);
        let message = format!(
            "expected a name, found {found}: an export refers to its event or \
                               call_tag by name"
        );
        return Err(Error::malformed(tree.start(list + 2), message));
    };
    find(lowering.module, name)?;
    lowering.replace_word(list + 1, "tag".to_string());
    Ok(())
}

/// `(event $e (param t*))`, which is a tag.
fn event(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let header = Header::read(lowering.tree, list)?;
    if lowering.tree.text(header.next).starts_with(':') {
        let message = "unexpected token `:`: write the values of an event as `(param ..)`";
        return Err(Error::malformed(lowering.tree.start(header.next), message));
    }
    if !lowering.module.signature(&header.item)?.results.is_empty() {
        let at = lowering.tree.start(list + 1);
        return Err(Error::invalid(at, "an event has no results"));
    }
    lowering.replace_word(list + 1, "tag".to_string());
    Ok(())
}

pub(super) fn call_tag<'a, 'm>(module: &'m Module<'a>, name: Name<'a>) -> Result<&'m Item<'a>> {
    if module.tags.has(name) && !module.call_tags.has(name) {
        let message = format!("unknown call_tag: `{}` is a tag or an event", name.text);
        return Err(Error::invalid(name.at, message));
    }
    module.call_tags.get(name, "call_tag")
}

pub(super) fn type_of_call_tag(
    lowering: &mut Lowering<'_, '_>,
    name: Option<Name<'_>>,
    item: &Item<'_>,
) -> String {
    match (item.type_use, name) {
        (Some(ty), _) => ty.text.to_string(),
        (None, Some(name)) => lowering.companion(name, "call"),
        (None, None) => lowering.names.fresh("call"),
    }
}

/// `(call_tag $ct (param a*) (result b*))`: a tag whose parameter is a reference to `(func (param
/// a*) (result b*))`.
fn define_call_tag(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let tree = lowering.tree;
    let header = Header::read(tree, list)?;
    let at = tree.start(list + 1);
    let ty = type_of_call_tag(lowering, header.name, &header.item);
    if header.item.type_use.is_none() {
        let signature = &header.item.inline;
        let signature = lowering.signature(&signature.params, &signature.results);
        lowering.back.push(format!("\n  (type {ty} (func{signature}))"), at);
    }
    lowering.replace_word(list + 1, "tag".to_string());
    let param = Pieces::text(format!(" (param (ref null {ty}))"), at);
    let is_type = |node: &Node| matches!(tree.head(*node), Some("type" | "param" | "result"));
    let start = match tree.between(list + 2, header.next).find(is_type) {
        Some(first) => tree.start(first),
        None => tree.end(header.next - 1),
    };
    lowering.edits.replace(start..tree.end(header.next - 1), param);
    Ok(())
}

/// `(rout $r ..)`, which is a function.
fn rout(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let tree = lowering.tree;
    let is_outside = |node: &Node| matches!(tree.head(*node), Some("import" | "export"));
    let outside = match lowering.is_in_function() {
        true => tree.children(list).find(is_outside),
        false => Some(list),
    };
    if let Some(node) = outside {
        let message = "a rout cannot be imported or exported: only `stack.extend` can name it";
        return Err(Error::invalid(tree.start(node), message));
    }
    lowering.replace_word(list + 1, "func".to_string());
    Ok(())
}
