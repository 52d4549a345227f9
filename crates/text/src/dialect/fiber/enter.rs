//! `fiber.mount_new` and `fiber.switch_new`: create a fiber and enter it at once.
//!
//! The fiber is created with one event, which only these instructions send, and is held in a local.
//! Each clause has a block of its own that stores the event's values in locals, so that the fiber
//! can come before them.

use super::event::{Clause, Event};
use super::new::{NewFiber, Start};
use super::send::SentEvent;
use super::{fiber_type, operands_message};
use crate::dialect::lower::{Lowering, Pieces};
use crate::dialect::source::{Instruction, ValType};
use crate::error::Result;

/// `fiber.mount_new $ret $f (on $e $l)*`, and the same for `switch_new`.
pub(super) fn lower<'a>(
    lowering: &mut Lowering<'a, '_>,
    instruction: &mut Instruction<'a>,
) -> Result<()> {
    let returns = Event::read(lowering, instruction)?;
    let function = instruction.name(lowering.tree, "a function")?;
    let clauses = Clause::read_all(lowering, instruction, "a label")?;
    let at = instruction.at(lowering.tree);
    let start = start_event(lowering);
    let starts = vec![Start { event: start.clone(), at, values: &[], function }];
    let new = NewFiber::new(lowering, Some(returns), starts)?;
    let mut entering = Entering { at, pieces: Pieces::new(), fiber: String::new() };
    entering.require_labels(lowering, &clauses);
    entering.enter(lowering, instruction, &new, &start, returns, &clauses);
    lowering.emit_pieces(instruction, entering.pieces, None);
    Ok(())
}

/// The event that starts these fibers, one for the module.
fn start_event(lowering: &mut Lowering<'_, '_>) -> String {
    let word = "fiber.start";
    if lowering.brand(word).is_empty() {
        let name = lowering.names.fresh(word);
        lowering.back.push(format!("\n  (tag {name})"), lowering.tree.range().start);
        lowering.set_brand(word, name);
    }
    lowering.brand(word).to_string()
}

/// The lowered code of one instruction so far.
struct Entering {
    at: usize,
    pieces: Pieces,
    fiber: String,
}

impl Entering {
    /// Labels take the new fiber, then the values of the event.
    fn require_labels<'a>(&mut self, lowering: &mut Lowering<'a, '_>, clauses: &[Clause<'_, 'a>]) {
        for clause in clauses {
            let fiber = fiber_type(false, self.at);
            let values: Vec<_> = [fiber].iter().chain(clause.event.values).copied().collect();
            let (l, e) = (clause.target.text, clause.event.name.text);
            let message = format!(
                "the label `{l}` must take exactly the new fiber and the values of the event `{e}`"
            );
            self.pieces.append(clause.require_label(lowering, &values, &message));
        }
    }

    fn enter<'a>(
        &mut self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &Instruction<'a>,
        new: &NewFiber<'_, 'a>,
        start: &str,
        returns: Event<'_, 'a>,
        clauses: &[Clause<'_, 'a>],
    ) {
        let left = self.put_aside_left(lowering, instruction, new.arguments);
        self.pieces.append(new.form(lowering, instruction));
        let ty = lowering.ty(fiber_type(false, self.at));
        self.fiber = lowering.local("new", &ty, self.at);
        self.push(format!(" (local.set {})", self.fiber));

        let catches = self.open_blocks(lowering, returns, clauses);
        let name = instruction.word.trim_start_matches("fiber.").trim_end_matches("_new");
        let fibers = 1 + usize::from(left.is_some());
        let left = left.map_or(String::new(), |left| format!(" (local.get {left})"));
        self.push(format!("{left} (local.get {}) ", self.fiber));
        let sent = SentEvent { name, event: start, values: &[], fibers };
        self.pieces.append(sent.form(lowering, instruction, catches));
        // A new fiber receives its start event.
        self.push(" (unreachable))".to_string());

        for clause in clauses.iter().rev() {
            self.put_fiber_before(lowering, clause.event.values);
            self.pieces.push(format!(" (br {}))", clause.target.text), clause.target.at);
        }
        self.put_fiber_before(lowering, returns.values);
    }

    /// Stores the fiber that `fiber.switch_new` leaves, which is the last operand.
    fn put_aside_left<'a>(
        &mut self,
        lowering: &mut Lowering<'a, '_>,
        instruction: &Instruction<'a>,
        arguments: &[ValType<'a>],
    ) -> Option<String> {
        let switches = instruction.word == "fiber.switch_new";
        switches.then(|| {
            let fiber = fiber_type(true, self.at);
            let ty = lowering.ty(fiber);
            let left = lowering.local("left", &ty, self.at);
            let operands: Vec<_> = arguments.iter().copied().chain([fiber]).collect();
            let message = operands_message(instruction, &operands);
            self.pieces.push_noted(format!("(local.set {left}) "), self.at, message);
            left
        })
    }

    /// Opens a block for the return event, and in it one for each clause. Returns the catches that
    /// lead there.
    fn open_blocks<'a>(
        &mut self,
        lowering: &mut Lowering<'a, '_>,
        returns: Event<'_, 'a>,
        clauses: &[Clause<'_, 'a>],
    ) -> Pieces {
        let returned = lowering.label("returned");
        let ty = lowering.signature(&[], returns.values);
        self.push(format!(" (block {returned}{ty}"));
        let catch = format!(" (catch {} {returned})", returns.name.text);
        let mut catches = Pieces::text(catch, returns.name.at);
        for (number, clause) in clauses.iter().enumerate() {
            let label = lowering.label(&format!("clause.{}", number + 1));
            let ty = lowering.signature(&[], clause.event.values);
            self.push(format!(" (block {label}{ty}"));
            catches.append(clause.catch(&label));
        }
        catches
    }

    /// Moves the new fiber below the values on the operand stack.
    fn put_fiber_before<'a>(&mut self, lowering: &mut Lowering<'a, '_>, values: &[ValType<'a>]) {
        let mut locals = Vec::new();
        for &ty in values {
            let ty = lowering.ty(ty);
            locals.push(lowering.local("value", &ty, self.at));
        }
        let sets: String = locals.iter().rev().map(|name| format!(" (local.set {name})")).collect();
        let gets: String = locals.iter().map(|name| format!(" (local.get {name})")).collect();
        self.push(format!("{sets} (local.get {}){gets}", self.fiber));
    }

    fn push(&mut self, text: String) {
        self.pieces.push(text, self.at);
    }
}
