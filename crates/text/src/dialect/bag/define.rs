//! Reads and lowers the definitions of stack types.

use super::stack_type::{ReturnStack, StackType};
use crate::dialect::definitions::{Module, TypeDef, TypeKind};
use crate::dialect::lower::{Lowering, Pieces, standard_type};
use crate::dialect::source::{Name, Node, Signature, Tree, ValType, list_of_types};
use crate::error::{Error, Result};

/// Reads `(stack (param t)* rt)`; `rt` may be alone or in a `(param ..)`.
pub(super) fn read<'a>(tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
    let mut params = Vec::new();
    let mut parts = tree.children(list).skip(1).peekable();
    while let Some(node) = parts.next() {
        match tree.head(node) {
            Some("param") => params.extend(list_of_types(tree, node)?),
            _ if parts.peek().is_none() => params.push(ValType::read(tree, node)?),
            _ => return Err(misplaced(tree, node)),
        }
    }
    Ok(Signature { params, results: Vec::new() })
}

fn misplaced(tree: &Tree<'_>, node: Node) -> Error {
    let found = tree.describe(node);
    let message = format!(
        "expected `(param ..)`, found {found}: in a stack type only the last type, the stack to \
         return to, is written without `param`"
    );
    Error::malformed(tree.start(node), message)
}

/// `(type $c.func (func (param t* rt)))` and `(type $c (cont $c.func))`; in
/// the shadow, `(type $c (func (param t* rt)))`. Each has the subtyping of the
/// definition.
pub(super) fn define<'a>(
    lowering: &mut Lowering<'a, '_>,
    definition: &TypeDef<'a>,
) -> Result<Vec<Pieces>> {
    let TypeKind::Design(_, signature) = &definition.kind else { return Ok(Vec::new()) };
    check(lowering.module, definition, &signature.params)?;
    let (at, sub) = (definition.at, definition.sub.as_ref());
    let own = definition.name.map(|name| (name.text.to_string(), name.at));
    let supertypes = sub.map_or(&[][..], |sub| &sub.supertypes);
    let own_supertypes = supertypes.iter().map(|name| (name.text.to_string(), name.at)).collect();
    let function = lowering.func(signature, at);
    if lowering.is_shadow() {
        return Ok(vec![standard_type(at, own, sub, own_supertypes, function)]);
    }
    let name = match definition.name {
        Some(name) => lowering.companion(name, "func"),
        None => lowering.names.fresh("stack.func"),
    };
    let function_supertypes =
        supertypes.iter().map(|&name| (lowering.companion(name, "func"), name.at)).collect();
    let cont = Pieces::text(format!("(cont {name})"), at);
    Ok(vec![
        standard_type(at, Some((name, at)), sub, function_supertypes, function),
        standard_type(at, own, sub, own_supertypes, cont),
    ])
}

/// Checks that the last parameter is a stack, and that supertypes are stack types. The standard
/// text does not express this.
fn check<'a>(module: &Module<'a>, definition: &TypeDef<'a>, params: &[ValType<'a>]) -> Result<()> {
    ReturnStack::find(module, params, definition.at)?;
    let mut supertypes = definition.sub.iter().flat_map(|sub| &sub.supertypes);
    supertypes.try_for_each(|&name: &Name<'a>| StackType::find(module, name).map(drop))
}
