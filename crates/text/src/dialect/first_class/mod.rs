//! First-class stacks: `stackref`, events, call tags, routs, `stack.switch`,
//! `stack.redirect`, `answer`.
//!
//! A `stackref` is a reference to a type that stands for all of them:
//!
//! ```wat
//! (rec (type $stackref (cont $stackref.func))
//!      (type $stackref.func (func (param (ref null $stackref) (ref null $stackref)))))
//! ```
//!
//! In the shadow it is a struct. Events are tags, routs are functions, and a call tag is a tag whose
//! parameter tells its type. A module that uses only instructions on places has no such type.
//!
//! A function is lowered as a whole, before the walk enters it, since most of the lowering depends
//! on context: where locals are stored, which marks the stack has, which code becomes a closure, a
//! function of its own.
//!
//! | file | contents |
//! | --- | --- |
//! | `fields` | events, call tags and routs |
//! | `linear` | rejects stackrefs in the wrong places, and instructions that would copy one |
//! | `shape` | the instructions, blocks and parts of a function |
//! | `locals` | the locals of a function, and where they are stored |
//! | `initialization` | checks that a local without a default is set before it is read |
//! | `function` | lowers a function |
//! | `regions` | `answer`, `stack.redirect`, `stack.redirect_to`, and their marks |
//! | `places` | `get_clear`, `set_cleared` and `is_cleared`, for all references |
//! | `stored_locals` | standard instructions on locals that are stored in a struct |
//! | `switches` | instructions with a tag: switches, `stack.extend`, `call_stack` |
//! | `rout` | checks the start of a rout |
//! | `select` | rejects a `select` between stackrefs |

mod fields;
mod function;
mod initialization;
mod linear;
mod locals;
mod places;
mod regions;
mod rout;
mod select;
mod shape;
mod stored_locals;
mod switches;

use crate::dialect::design::{Design, Role};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{ValKind, ValType, Word, WordPlace};
use crate::error::Result;

pub(crate) use places::is_place_word;

const STACKREF: &str = "stackref";

pub(crate) static FIRST_CLASS: Design = Design {
    name: "first-class stacks",
    ty: "a stackref",
    hints: &["stack", "event", "call_tag", "rout", "answer", "try", "_clear"],
    instructions: &[
        "local.get_clear",
        "local.set_cleared",
        "local.is_cleared",
        "global.get_clear",
        "global.set_cleared",
        "global.is_cleared",
        "table.get_clear",
        "table.set_cleared",
        "table.is_cleared",
        "struct.get_clear",
        "struct.set_cleared",
        "struct.is_cleared",
        "array.get_clear",
        "array.set_cleared",
        "array.is_cleared",
        "table.grow_cleared",
        "stack.switch",
        "stack.switch_call",
        "stack.switch_drop",
        "stack.extend",
        "stack.start",
        "stack.redirect",
        "stack.redirect_to",
        "answer",
        "call_stack",
    ],
    in_context: &["stack.clone", "try"],
    recognize,
    read_field: fields::read,
    prepare,
    heap_type,
    value_type,
    lower_field: fields::lower,
    enter_function: function::lower,
    check_binary,
    type_words,
    ..Design::NONE
};

fn recognize(word: &Word<'_, '_>) -> Option<Role> {
    match word.text {
        STACKREF if word.place == WordPlace::Plain => Some(Role::ValueType),
        "stack" if word.place == WordPlace::Null && word.has_first_class => Some(Role::HeapType),
        "event" | "call_tag" if is_field(word) => Some(Role::Field),
        "rout" if word.place == WordPlace::Field => Some(Role::Function),
        "rout" if word.place == WordPlace::Description => Some(Role::Field),
        // With a type it belongs to the bag of stacks.
        "stack.clone" if word.is_instruction() && word.indices() == 0 => Some(Role::Instruction),
        "try" if word.is_instruction() && !is_legacy(word) => Some(Role::Instruction),
        _ => None,
    }
}

fn prepare<'a>(lowering: &mut Lowering<'a, '_>) -> Result<()> {
    if !lowering.module.has_first_class {
        return Ok(());
    }
    linear::check_types(lowering.tree)?;
    linear::check_objects(lowering)?;
    fields::check_names(lowering)?;
    define_stackref(lowering);
    linear::lower_first_nulls(lowering);
    Ok(())
}

/// `ref.null stack`, which is a null stackref, and a null stack of the bag if the module has
/// both.
fn heap_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    match (lowering.module.has_bag, lowering.is_shadow()) {
        _ if word != "stack" => None,
        (false, _) => Some(lowering.brand(STACKREF).to_string()),
        (true, false) => Some("nocont".to_string()),
        (true, true) => Some("nofunc".to_string()),
    }
}

fn value_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    (word == STACKREF).then(|| stackref(lowering))
}

fn type_words(lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
    match lowering.module.has_first_class {
        true => vec![(stackref(lowering), STACKREF.to_string())],
        false => Vec::new(),
    }
}

fn check_binary(binary: &[u8]) -> Option<(usize, &'static str)> {
    let message = "a stackref is linear: `select` would drop one of its operands";
    select::find(binary).map(|offset| (offset, message))
}

fn is_field(word: &Word<'_, '_>) -> bool {
    matches!(word.place, WordPlace::Field | WordPlace::Description)
}

/// Whether a `try` is the legacy one, `(try (do ..) ..)`.
fn is_legacy(word: &Word<'_, '_>) -> bool {
    let is_do = |node| word.tree.head(node) == Some("do");
    word.place == WordPlace::Folded && word.tree.siblings(word.node).any(is_do)
}

/// Whether `ref.null stack` has two kinds here. The shadow has no null of both kinds, so it uses an
/// `unreachable`, after which every type fits.
fn has_two_nulls(lowering: &Lowering<'_, '_>) -> bool {
    lowering.is_shadow() && lowering.module.has_bag
}

fn is_stackref(ty: ValType<'_>) -> bool {
    matches!(ty.kind, ValKind::Word(STACKREF))
}

fn stackref(lowering: &Lowering<'_, '_>) -> String {
    format!("(ref null {})", lowering.brand(STACKREF))
}

fn null(lowering: &Lowering<'_, '_>) -> String {
    format!("(ref.null {})", lowering.brand(STACKREF))
}

/// Defines the type of all stackrefs, before all other fields.
fn define_stackref(lowering: &mut Lowering<'_, '_>) {
    let name = lowering.names.fresh(STACKREF);
    let function = lowering.names.fresh("stackref.func");
    lowering.set_brand(STACKREF, name);
    let stackref = stackref(lowering);
    let name = lowering.brand(STACKREF);
    let signature = format!("(func (param {stackref} {stackref}))");
    let types = match lowering.is_shadow() {
        false => format!("(type {name} (cont {function})) (type {function} {signature})"),
        true => {
            let fields = format!("(struct (field {stackref} {stackref}))");
            format!("(type {name} {fields}) (type {function} {signature})")
        }
    };
    let at = lowering.tree.range().start;
    lowering.front.push(format!("(rec {types})\n  "), at);
}
