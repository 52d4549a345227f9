//! Reads and lowers the definitions of task types.

use crate::dialect::definitions::{Sub, TypeDef, TypeKind};
use crate::dialect::lower::{Lowering, Pieces, standard_type};
use crate::dialect::source::{Node, Signature, Tree, ValType};
use crate::error::{Error, Result};

/// Reads `(task (param r*) (result s*))` or `(taskref (r*) (s*))`.
pub(super) fn read<'a>(tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
    match tree.head(list) {
        Some("taskref") => read_taskref(tree, list),
        _ => read_task(tree, list),
    }
}

/// `(task (param ..)* (result ..)*)`.
fn read_task<'a>(tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
    let is_result = |node| tree.head(node) == Some("result");
    let after = tree.children(list).skip(1).skip_while(|&node| !is_result(node));
    let misplaced = after.into_iter().find(|&node| tree.head(node) == Some("param"));
    if let Some(node) = misplaced {
        let message = "unexpected `(param ..)`: a task type has its parameters before its results";
        return Err(Error::malformed(tree.start(node), message));
    }
    let mut parts = tree.children(list);
    parts.next();
    let signature = Signature::read(tree, &mut parts)?;
    match parts.next() {
        None => Ok(signature),
        Some(node) => {
            let found = tree.describe(node);
            let message = format!(
                "expected `(param ..)` or `(result ..)`, found {found}: a task type is written \
                 `(task (param r*) (result s*))` or `(taskref (r*) (s*))`"
            );
            Err(Error::malformed(tree.start(node), message))
        }
    }
}

/// `(taskref (r*) (s*))`.
fn read_taskref<'a>(tree: &Tree<'a>, list: Node) -> Result<Signature<'a>> {
    let mut parts = tree.children(list);
    parts.next();
    let mut types = || {
        let node = parts.peek();
        match parts.next().filter(|&node| tree.is_list(node)) {
            Some(list) => tree.children(list).map(|node| ValType::read(tree, node)).collect(),
            None => Err(not_two_lists(tree, node)),
        }
    };
    let (params, results): (Vec<_>, Vec<_>) = (types()?, types()?);
    match parts.next() {
        None => Ok(Signature { params, results }),
        Some(node) => Err(not_two_lists(tree, node)),
    }
}

fn not_two_lists(tree: &Tree<'_>, node: Node) -> Error {
    let found = tree.describe(node);
    let message = format!(
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what \
         it gives; found {found}"
    );
    Error::malformed(tree.start(node), message)
}

/// `(type $t.func (func (param r*) (result s*)))` and `(type $t (cont
/// $t.func))`; in the shadow the second is `(sub final $task (struct (field (ref
/// $t.func))))`.
pub(super) fn define<'a>(
    lowering: &mut Lowering<'a, '_>,
    definition: &TypeDef<'a>,
) -> Result<Vec<Pieces>> {
    let TypeKind::Design(_, signature) = &definition.kind else { return Ok(Vec::new()) };
    check(definition)?;
    let at = definition.at;
    let function = match definition.name {
        Some(name) => lowering.companion(name, "func"),
        None => lowering.names.fresh("task.func"),
    };
    let signature = lowering.func(signature, at);
    let own = definition.name.map(|name| (name.text.to_string(), name.at));
    let task = match lowering.is_shadow() {
        false => format!("(cont {function})"),
        true => {
            let task = lowering.brand("task");
            format!("(sub final {task} (struct (field (ref {function}))))")
        }
    };
    Ok(vec![
        standard_type(at, Some((function, at)), None, Vec::new(), signature),
        standard_type(at, own, None, Vec::new(), Pieces::text(task, at)),
    ])
}

/// Checks that a task type is final. A supertype would let a task receive and give unexpected
/// values.
fn check(definition: &TypeDef<'_>) -> Result<()> {
    let Some(Sub { is_final, supertypes }) = &definition.sub else { return Ok(()) };
    let at = match supertypes.first() {
        Some(supertype) => supertype.at,
        None if *is_final => return Ok(()),
        None => definition.at,
    };
    let message = "a task type is final and has no supertype, since tasks both send and receive: \
                   a sub type could not match its super type; leave out the `sub`";
    Err(Error::invalid(at, message))
}
