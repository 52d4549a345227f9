//! Fibers: `fiberref`, `fiber.new`, `fiber.mount`, `fiber.switch`,
//! `fiber.dismount`.
//!
//! All fibers have one type. It is the first of a group that no program would
//! write by chance:
//!
//! ```wat
//! (rec (type $fiber (cont $fiber.func)) (type $fiber.func (func (param (ref null $fiber)))))
//! ```
//!
//! In the shadow it is a struct. Events are tags without results. Below, `$e`
//! is an event with the values `te*`, and the return event `$ret` has `to*`.
//!
//! | file | contents |
//! | --- | --- |
//! | `event` | events, and the clauses `(on $e $x)` or `$e $x` |
//! | `new` | `fiber.new`, and which functions start a fiber |
//! | `send` | the instructions that send an event |
//! | `enter` | `fiber.mount_new` and `fiber.switch_new`: both in one |

mod enter;
mod event;
mod new;
mod send;

use crate::dialect::design::{Design, Role};
use crate::dialect::lower::Lowering;
use crate::dialect::source::{HeapType, Instruction, ValKind, ValType, Word, WordPlace, row};
use crate::error::Result;

pub(crate) static FIBERS: Design = Design {
    name: "fibers",
    ty: "a fiber type",
    hints: &["fiber"],
    instructions: &[
        "fiber.new",
        "fiber.mount",
        "fiber.switch",
        "fiber.dismount",
        "fiber.release",
        "fiber.eq",
        "fiber.mount_new",
        "fiber.switch_new",
        "fiber.dismount_release",
        "fiber.switch_release",
    ],
    renamed: &[
        ("fiber.spawn", "fiber.mount_new"),
        ("fiber.resume", "fiber.mount"),
        ("fiber.suspend", "fiber.dismount"),
        ("fiber.retire", "fiber.dismount_release"),
    ],
    recognize,
    prepare,
    heap_type,
    value_type,
    lower,
    type_words,
    ..Design::NONE
};

fn recognize(word: &Word<'_, '_>) -> Option<Role> {
    match word.text {
        "fiber" if word.is_heap_type() => Some(Role::HeapType),
        "fiberref" if word.place == WordPlace::Plain => Some(Role::ValueType),
        _ => None,
    }
}

fn prepare<'a>(lowering: &mut Lowering<'a, '_>) -> Result<()> {
    let fiber = lowering.names.fresh("fiber");
    let function = lowering.names.fresh("fiber.func");
    let inner = match lowering.is_shadow() {
        false => format!("(cont {function})"),
        true => format!("(struct (field (ref null {fiber})))"),
    };
    let group = format!(
        "(rec (type {fiber} {inner}) (type {function} (func (param (ref null {fiber})))))\n  "
    );
    lowering.front.push(group, lowering.tree.range().start);
    lowering.set_brand("fiber", fiber);
    Ok(())
}

fn heap_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    (word == "fiber").then(|| lowering.brand("fiber").to_string())
}

fn value_type(lowering: &Lowering<'_, '_>, word: &str) -> Option<String> {
    (word == "fiberref").then(|| format!("(ref null {})", lowering.brand("fiber")))
}

fn type_words(lowering: &Lowering<'_, '_>) -> Vec<(String, String)> {
    let fiber = lowering.brand("fiber");
    let words = [("(ref null", "fiberref"), ("(ref", "(ref fiber)")];
    words.map(|(start, to)| (format!("{start} {fiber})"), to.to_string())).to_vec()
}

fn lower<'a>(lowering: &mut Lowering<'a, '_>, instruction: &mut Instruction<'a>) -> Result<()> {
    match instruction.word {
        "fiber.new" => new::lower(lowering, instruction),
        "fiber.mount_new" | "fiber.switch_new" => enter::lower(lowering, instruction),
        "fiber.release" => {
            send::release(lowering, instruction);
            Ok(())
        }
        "fiber.eq" => {
            send::eq(lowering, instruction);
            Ok(())
        }
        _ => send::lower(lowering, instruction),
    }
}

/// `fiberref` or `(ref fiber)`.
fn fiber_type<'a>(nullable: bool, at: usize) -> ValType<'a> {
    let kind = match nullable {
        true => ValKind::Word("fiberref"),
        false => ValKind::Ref { nullable, heap: HeapType::Word("fiber", at) },
    };
    ValType { kind, at }
}

/// The message for wrong operands of an instruction.
fn operands_message(instruction: &Instruction<'_>, operands: &[ValType<'_>]) -> String {
    let (word, types) = (instruction.word, row(operands));
    format!("type mismatch: `{word}` takes `{types}` here, but the stack has other types")
}

fn is_fiber(ty: ValType<'_>) -> bool {
    match ty.kind {
        ValKind::Word(word) => word == "fiberref",
        ValKind::Ref { heap: HeapType::Word(word, _), .. } => word == "fiber",
        _ => false,
    }
}
