//! Lowers the instructions that send an event: `fiber.mount`, `fiber.switch`, `fiber.dismount`, and
//! the forms of the last two that release the fiber they leave.

use super::event::{Clause, Event};
use super::{fiber_type, operands_message};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, ValKind, ValType};
use crate::error::{Error, Result};

pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let event = Event::read(lowering, instruction)?;
    let (releases, fibers) = match instruction.word {
        "fiber.dismount_release" => (true, 1),
        "fiber.switch_release" => (true, 2),
        "fiber.switch" => (false, 2),
        _ => (false, 1),
    };
    let clauses = match releases {
        true => refuse_clauses(lowering, instruction)?,
        false => Clause::read_all(lowering, instruction, "a label")?,
    };
    let mut pieces = Pieces::new();
    let mut catches = Pieces::new();
    for clause in &clauses {
        pieces.append(clause.require_label(lowering, clause.event.values, &label_message(clause)));
        catches.append(clause.catch(clause.target.text));
    }
    let name = instruction.word.trim_start_matches("fiber.");
    let sent = SentEvent { name, event: event.name.text, values: event.values, fibers };
    pieces.append(sent.form(lowering, instruction, catches));
    lowering.emit_pieces(instruction, pieces, None);
    Ok(())
}

/// `fiber.release`.
pub(super) fn release<'a>(lowering: &mut Lowering<'a, '_>, instruction: &Instruction<'a>) {
    let operands = [fiber_type(true, instruction.at(lowering.tree))];
    call(lowering, instruction, &operands, &[]);
}

/// `fiber.eq`.
pub(super) fn eq<'a>(lowering: &mut Lowering<'a, '_>, instruction: &Instruction<'a>) {
    let fiber = fiber_type(true, instruction.at(lowering.tree));
    let is_same = ValType { kind: ValKind::Word("i32"), at: fiber.at };
    call(lowering, instruction, &[fiber, fiber], &[is_same]);
}

/// Calls the primitive with the name of the instruction.
fn call<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &Instruction<'a>,
    operands: &[ValType<'a>],
    results: &[ValType<'a>],
) {
    if !lowering.is_shadow() {
        return lowering.call(instruction, operands, results);
    }
    let at = instruction.at(lowering.tree);
    let ty = lowering.signature(operands, results);
    let primitive = lowering.primitive_of(instruction, &ty);
    let mut call = Pieces::new();
    call.push_noted(format!("(call {primitive})"), at, operands_message(instruction, operands));
    lowering.emit_pieces(instruction, call, None);
}

/// Rejects clauses: no event ever reaches a released fiber.
fn refuse_clauses<'m, 'a>(
    lowering: &Lowering<'a, '_>,
    instruction: &Instruction<'a>,
) -> Result<Vec<Clause<'m, 'a>>> {
    let (tree, word) = (lowering.tree, instruction.word);
    let node = instruction.next;
    if !tree.is_name(node) && tree.head(node) != Some("on") {
        return Ok(Vec::new());
    }
    let found = tree.describe(node);
    let message = format!(
        "unexpected {found}: `{word}` has no clauses, since a released fiber receives no event"
    );
    Err(Error::malformed(tree.start(node), message))
}

fn label_message(clause: &Clause<'_, '_>) -> String {
    let (l, e) = (clause.target.text, clause.event.name.text);
    format!("the label `{l}` must take exactly the values of the event `{e}`")
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SentEvent<'s, 'a> {
    pub name: &'s str,
    pub event: &'s str,
    /// `tr*`.
    pub values: &'s [ValType<'a>],
    /// The number of operands that are fibers, after the values.
    pub fibers: usize,
}

impl<'a> SentEvent<'_, 'a> {
    /// The call of the primitive. If no clause receives the event, control continues after it.
    pub fn form(
        &self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &Instruction<'a>,
        catches: Pieces,
    ) -> Pieces {
        let at = instruction.at(lowering.tree);
        let fibers = std::iter::repeat_n(fiber_type(true, at), self.fibers);
        let operands: Vec<_> = self.values.iter().copied().chain(fibers).collect();
        let ty = lowering.signature(&operands, &[]);
        let outer = lowering.signature(&operands, self.values);
        let primitive = lowering.primitive("fiber", self.name, &ty, at);
        let [after, sent] = ["after", "sent"].map(|wish| lowering.label(wish));
        let event = self.event;
        let mut pieces = Pieces::new();
        let message = operands_message(instruction, &operands);
        pieces.push_noted(format!("(block {after}{ty}"), at, message);
        let form = format!(" (block {sent}{outer} (try_table{ty} (catch {event} {sent})");
        pieces.push(form, at);
        pieces.append(catches);
        pieces.push(format!(" (call {primitive})) (br {after})) (unreachable))"), at);
        pieces
    }
}
