//! Generates random programs that mostly make progress.
//!
//! A program is written while the [model](super::model) runs it. Where code ends that is not
//! closed, a [proposer] proposes operations until the [judge] finds that one works in the model's
//! state: that its handler exists, that its reference is valid. Some choices are wrong on purpose.
//! Code that runs again, in another call or on another stack, runs unchanged in whatever state it
//! meets.
//!
//! A scripted program consists of proposals that are not judged. The judge helps to write its
//! script.

mod bag;
mod basic;
mod entropy;
mod fiber;
mod first_class;
mod guess;
mod judge;
mod proposer;
mod script;
mod scripted_program;
mod setup;
mod task;
mod typed;

pub use entropy::RECORD;
pub use script::write_script;
pub use scripted_program::{SCRIPTED_PROGRAMS, scripted_program};

use super::model::{Author, Machine};
use super::program::{Bag, BlockId, Call, FirstClass, Op, Program, Signature, Task};
use basic::{BASIC, CONTROL};
use entropy::{Choice, Entropy};
use proposer::Proposer;
use setup::Setup;
use std::rc::Rc;

/// The maximum number of calls from the host.
const CALLS: usize = 12;

/// The maximum number of operations of a program.
const OPERATIONS: usize = 600;

struct Writer<'e> {
    entropy: Entropy<'e>,
    setup: Setup,
    written: usize,
}

/// Writes a program while the model runs it.
pub fn generate(bytes: &[u8]) -> Machine {
    let mut entropy = Entropy::new(bytes);
    let (setup, program) = setup::setup(&mut entropy.record());
    let mut machine = Machine::new(program);
    let mut writer = Writer { entropy, setup, written: 0 };
    while !writer.entropy.is_empty() && machine.program.calls.len() < CALLS {
        let call = writer.next_call(&mut machine);
        machine.program.calls.push(call.clone());
        machine.call(call, &mut Some(&mut writer));
        if machine.unspecified || writer.written > OPERATIONS {
            break;
        }
    }
    for block in &mut machine.program.blocks {
        block.closed = true;
    }
    machine
}

impl Writer<'_> {
    /// The next call of the host, to a new or an existing function.
    fn next_call(&mut self, machine: &mut Machine) -> Call {
        let mut choice = self.entropy.record();
        let entries = entries(&machine.program);
        let argument = choice.below(5) as i64;
        let function = match choice.one(&entries) {
            Some(function) if choice.percent(25) => function,
            _ => {
                let module = choice.below(machine.program.modules);
                machine.program.new_function(module, Signature::entry(), false)
            }
        };
        Call { function, argument }
    }

    /// The next operations of the running function, or none to close the block.
    fn next_ops(&self, machine: &mut Machine, choice: Choice) -> Vec<Op> {
        let function = machine.function();
        let proposer = &mut Proposer::new(machine, &self.setup, choice, function);
        let ops = match proposer.choice.first {
            0..24 => return leave(proposer).unwrap_or_default(),
            24..60 => proposer.propose(|proposer, kind| proposer.basic(kind), BASIC),
            60..80 => proposer.propose(|proposer, kind| proposer.control(kind), CONTROL),
            _ => proposer.design(),
        };
        ops.or_else(|| proposer.basic(0)).unwrap_or_default()
    }
}

/// The functions that the host calls.
fn entries(program: &Program) -> Vec<usize> {
    let functions = program.functions.iter().enumerate();
    let entries = functions.filter(|(_, f)| !f.rout && f.signature == Signature::entry());
    entries.map(|(id, _)| id).collect()
}

/// Mostly leaves a function in another way where returning would trap.
fn leave(proposer: &mut Proposer<'_>) -> Option<Vec<Op>> {
    let is_body = proposer.running().is_some_and(|frame| frame.cursors.len() == 1);
    if !is_body || proposer.is_part() || proposer.choice.percent(20) {
        return None;
    }
    if proposer.ends_coroutine() {
        return proposer.propose_kind(|proposer, kind| proposer.bag(kind), bag::RETIRE);
    }
    if proposer.is_on_top() {
        let arm: proposer::Arm = |proposer, kind| proposer.first_class(kind);
        return proposer.propose_kind(arm, first_class::SWITCH_AWAY);
    }
    None
}

/// Whether an operation never continues after itself.
fn is_last(op: &Op) -> bool {
    match op {
        Op::Throw { .. } | Op::ThrowRef { .. } | Op::HostThrow { .. } | Op::HostFail => true,
        Op::Return | Op::Unreachable | Op::ReturnCall { .. } => true,
        Op::Bag(Bag::Retire { .. } | Bag::ReturnSwitch { .. } | Bag::ReturnThrow { .. }) => true,
        Op::Task(Task::Retire { .. }) => true,
        Op::FirstClass(op) => matches!(
            op,
            FirstClass::Switch { .. }
                | FirstClass::SwitchCall { .. }
                | FirstClass::SwitchDrop { .. }
        ),
        _ => false,
    }
}

impl Author for Writer<'_> {
    fn write(&mut self, machine: &mut Machine, block: BlockId) {
        if self.entropy.is_empty() || self.written > OPERATIONS {
            machine.program.blocks[block].closed = true;
            return;
        }
        self.written += 1;
        let choice = self.entropy.record();
        let ops = self.next_ops(machine, choice);
        let block = &mut machine.program.blocks[block];
        block.closed = ops.last().is_none_or(is_last);
        block.ops.extend(ops.into_iter().map(Rc::new));
    }

    fn choose(&mut self, _: &mut Machine) -> i64 {
        unreachable!("these programs have no script")
    }
}
