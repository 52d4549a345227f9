//! Events, and clauses that name them.

use crate::dialect::definitions::Module;
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, Name, Node, Tree, ValType};
use crate::error::{Error, Result};

/// `$e : [te*]`, a tag without results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event<'m, 'a> {
    pub name: Name<'a>,
    /// `te*`.
    pub values: &'m [ValType<'a>],
}

impl<'m, 'a> Event<'m, 'a> {
    pub fn read(
        lowering: &Lowering<'a, 'm>,
        instruction: &mut Instruction<'a>,
    ) -> Result<Event<'m, 'a>> {
        Event::find(lowering.module, instruction.name(lowering.tree, "a tag")?)
    }

    pub fn find(module: &'m Module<'a>, name: Name<'a>) -> Result<Event<'m, 'a>> {
        let signature = module.signature(module.tag(name)?)?;
        if !signature.results.is_empty() {
            let e = name.text;
            let message = format!(
                "an event of fibers is a tag without results, but `{e}` has results; \
                 declare another event to send values back"
            );
            return Err(Error::invalid(name.at, message));
        }
        Ok(Event { name, values: &signature.params })
    }
}

/// `(on $e $x)` or `$e $x`, where `$x` is a label or a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clause<'m, 'a> {
    pub event: Event<'m, 'a>,
    pub target: Name<'a>,
}

impl<'m, 'a> Clause<'m, 'a> {
    /// Reads the clauses that follow; `target` describes their second name in errors.
    pub fn read_all(
        lowering: &Lowering<'a, 'm>,
        instruction: &mut Instruction<'a>,
        target: &str,
    ) -> Result<Vec<Clause<'m, 'a>>> {
        let mut names = pairs(lowering.tree, instruction, target)?;
        let are_pairs = !names.is_empty();
        while let Some(list) = instruction.list(lowering.tree, "on") {
            if are_pairs {
                return Err(mixed(lowering.tree, list));
            }
            names.push(names_in(lowering.tree, list, target)?);
        }
        if lowering.tree.is_name(instruction.next) {
            return Err(mixed(lowering.tree, instruction.next));
        }
        let clause = |[event, target]: [Name<'a>; 2]| {
            Ok(Clause { event: Event::find(lowering.module, event)?, target })
        };
        names.into_iter().map(clause).collect()
    }

    /// ` (catch $e $label)`, mapped to the clause.
    pub fn catch(&self, label: &str) -> Pieces {
        let mut pieces = Pieces::text(" (catch ", self.event.name.at);
        pieces.push(self.event.name.text, self.event.name.at);
        pieces.push(format!(" {label})"), self.target.at);
        pieces
    }

    /// In the shadow, a clause that is valid only if the label takes values of these types, and no
    /// others. A `br` alone would allow extra operands.
    pub fn require_label(
        &self,
        lowering: &mut Lowering<'a, '_>,
        values: &[ValType<'a>],
        message: &str,
    ) -> Pieces {
        let mut pieces = Pieces::new();
        if lowering.is_shadow() {
            let tag = lowering.tag(values, self.target.at);
            let clause = format!("(try_table (catch {tag} {}))", self.target.text);
            let code = format!("(if (i32.const 0) (then {clause})) ");
            pieces.push_noted(code, self.target.at, message);
        }
        pieces
    }
}

/// Reads clauses of the form `$e $x`; `target` describes `$x` in errors.
fn pairs<'a>(
    tree: &Tree<'a>,
    instruction: &mut Instruction<'a>,
    target: &str,
) -> Result<Vec<[Name<'a>; 2]>> {
    let mut pairs = Vec::new();
    while let Some(event) = instruction.optional_name(tree)? {
        let node = instruction.next;
        let Some(name) = instruction.optional_name(tree)? else {
            let (e, found) = (event.text, tree.describe(node));
            let message = format!(
                "incomplete clause: expected the name of {target} after the event `{e}`, found \
                 {found}; clauses are written as pairs `$event $x` or as `(on $event $x)`"
            );
            return Err(Error::malformed(event.at, message));
        };
        pairs.push([event, name]);
    }
    Ok(pairs)
}

/// The error for a mixture of both forms.
fn mixed(tree: &Tree<'_>, node: Node) -> Error {
    let found = tree.describe(node);
    let message = format!(
        "unexpected {found}: the clauses of one instruction are all written as pairs `$event $x`, \
         or all as `(on $event $x)`"
    );
    Error::malformed(tree.start(node), message)
}

/// The two names in `(on $e $x)`.
fn names_in<'a>(tree: &Tree<'a>, list: Node, target: &str) -> Result<[Name<'a>; 2]> {
    let mut parts = tree.children(list);
    parts.next();
    let mut name = |what: &str| {
        let node = parts.peek();
        parts.next();
        Name::read(tree, node).ok_or_else(|| {
            let found = tree.describe(node);
            let message = format!("`(on ..)` expects the name of {what} here, found {found}");
            Error::malformed(tree.start(node), message)
        })
    };
    let names = [name("a tag")?, name(target)?];
    match parts.next() {
        None => Ok(names),
        Some(node) => {
            let found = tree.describe(node);
            let message = format!("expected `)` after the two names of a clause, found {found}");
            Err(Error::malformed(tree.start(node), message))
        }
    }
}
