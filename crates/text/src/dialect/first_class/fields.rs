//! Events, call tags, routs, and the import of `new_stack`.

use super::super::index::{self, Space};
use super::super::lowering::Lowering;
use super::super::module::{Item, Module};
use super::super::name::Name;
use super::super::output::Pieces;
use super::super::read::Header;
use super::super::tree::{Node, Tree};
use super::is_stackref;
use crate::fault::{Fault, Result};

/// Reads a field, or what an import says it is.
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

/// Checks that where functions and tags are named there are no routs and call
/// tags.
pub(super) fn check_names(lowering: &Lowering<'_, '_>) -> Result<()> {
    let (tree, module) = (lowering.tree, lowering.module);
    index::each(tree, |space, node| match (Name::read(tree, node), space) {
        (Some(name), Space::Function) if module.routs.has(name) => module.function(name).map(drop),
        (Some(name), Space::Tag) if module.call_tags.has(name) => module.tag(name).map(drop),
        _ => Ok(()),
    })
}

/// Lowers a field, or what an import or export says it is.
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
        let message = format!("expected a name, found {found}: what is exported is named");
        return Err(Fault::malformed(tree.start(list + 2), message));
    };
    find(lowering.module, name)?;
    lowering.replace_word(list + 1, "tag".to_string());
    Ok(())
}

/// `(event $e (param t*))`, which is a tag.
fn event(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let header = Header::read(lowering.tree, list)?;
    if !lowering.module.signature(&header.item)?.results.is_empty() {
        let at = lowering.tree.start(list + 1);
        return Err(Fault::invalid(at, "an event has no results"));
    }
    lowering.replace_word(list + 1, "tag".to_string());
    Ok(())
}

/// The call tag with this name.
pub(super) fn call_tag<'a, 'm>(module: &'m Module<'a>, name: Name<'a>) -> Result<&'m Item<'a>> {
    if module.tags.has(name) && !module.call_tags.has(name) {
        let message = format!("unknown call_tag: `{}` is a tag or an event", name.text);
        return Err(Fault::invalid(name.at, message));
    }
    module.call_tags.get(name, "call_tag")
}

/// The function type of a call tag.
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

/// `(call_tag $ct (param a*) (result b*))`, which is a tag with a reference to
/// `(func (param a*) (result b*))` as its parameter.
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
        return Err(Fault::invalid(tree.start(node), message));
    }
    lowering.replace_word(list + 1, "func".to_string());
    Ok(())
}

/// Replaces `(import "host" "new_stack" (func $f (result stackref)))` by a
/// function that calls the primitive.
pub(super) fn lower_new_stack(lowering: &mut Lowering<'_, '_>) -> Result<()> {
    let tree = lowering.tree;
    let definition = first_definition(tree);
    (0..tree.len()).filter(|&node| tree.head(node) == Some("import")).try_for_each(|import| {
        let mut names = tree.children(import).skip(1).map(|node| tree.text(node));
        match (names.next(), names.next()) {
            (Some(HOST), Some(NEW_STACK)) => new_stack(lowering, import, definition),
            (Some(HOST), _) if tree.is_list(import + 3) => new_stack_of_group(lowering, import),
            _ => Ok(()),
        }
    })
}

/// The first field that no import may follow.
fn first_definition(tree: &Tree<'_>) -> Node {
    let module = tree.top().next().filter(|&list| tree.head(list) == Some("module"));
    let mut fields = module.map_or(tree.top(), |module| tree.children(module));
    let is_import = |node: Node| tree.head(node) == Some("import");
    let is_definition = |&field: &Node| match tree.head(field) {
        Some("func" | "rout" | "table" | "memory" | "global") => {
            !tree.children(field).any(is_import)
        }
        _ => false,
    };
    fields.find(is_definition).unwrap_or(tree.len())
}

/// Where the host has the function that gives a blank stack.
const HOST: &str = "\"host\"";
const NEW_STACK: &str = "\"new_stack\"";

/// `(import "host" "new_stack" (func ..))`, or an import that stands inside the
/// function.
///
/// It becomes a definition; that it stands before the others is checked here.
fn new_stack(lowering: &mut Lowering<'_, '_>, import: Node, definition: Node) -> Result<()> {
    let tree = lowering.tree;
    let outer = tree.parent(import).filter(|&outer| tree.head(outer) == Some("func"));
    let function = outer.unwrap_or(import + 4);
    if !is_new_stack(lowering, function)? {
        return Ok(());
    }
    let field = outer.unwrap_or(import);
    if field > definition {
        let message = format!("import after {}", tree.describe(definition));
        return Err(Fault::malformed(tree.start(field + 1), message));
    }
    define_new_stack(lowering, function, outer.map(|_| import));
    lowering.remove(field);
    Ok(())
}

/// `(import "host" (item "new_stack" (func ..)) ..)`, a group. In one whose
/// items share a type, nothing has a name that code could use.
fn new_stack_of_group(lowering: &mut Lowering<'_, '_>, import: Node) -> Result<()> {
    let tree = lowering.tree;
    let is_item = |node: &Node| tree.head(*node) == Some("item");
    let mut others = 0;
    for item in tree.children(import).filter(is_item) {
        let function = item + 3;
        if tree.text(item + 2) != NEW_STACK || !is_new_stack(lowering, function)? {
            others += 1;
            continue;
        }
        define_new_stack(lowering, function, None);
        lowering.remove(item);
    }
    if others == 0 {
        lowering.remove(import);
    }
    Ok(())
}

/// Whether what is imported is `[] -> [stackref]`. If not, it is unknown to the
/// host, who says so.
fn is_new_stack(lowering: &Lowering<'_, '_>, function: Node) -> Result<bool> {
    if lowering.tree.head(function) != Some("func") {
        return Ok(false);
    }
    let item = Header::read(lowering.tree, function)?.item;
    let signature = lowering.module.signature(&item)?;
    Ok(signature.params.is_empty() && matches!(signature.results[..], [ty] if is_stackref(ty)))
}

/// Defines a function that calls the primitive: the one that is imported, but
/// for the import inside it.
fn define_new_stack(lowering: &mut Lowering<'_, '_>, function: Node, inside: Option<Node>) {
    let tree = lowering.tree;
    let at = tree.start(function + 1);
    let result = format!(" (result {})", super::stackref(lowering));
    let primitive = lowering.primitive("first-class", "new_stack", &result, at);
    let mut pieces = Pieces::text("\n  ", at);
    let (mut start, close) = (tree.start(function), tree.start(tree.last(function)));
    if let Some(import) = inside {
        pieces.push_moved(start..tree.start(import));
        start = tree.end(import);
    }
    pieces.push_moved(start..close);
    pieces.push(format!(" (call {primitive}))"), at);
    lowering.back.append(pieces);
}
