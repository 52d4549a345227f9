//! Generates random programs that mostly make progress.
//!
//! A program is written while the [model](super::model) runs it. Where code ends that is not
//! closed, the generator chooses the next operation by the model's state: a handler that exists, a
//! reference that is valid. Some choices are wrong on purpose. Code that runs again, in another
//! call or on another stack, runs unchanged in whatever state it meets.

mod arms;
mod arms_first_class;
mod bag;
mod basic;
mod block_writer;
mod control;
mod entropy;
mod fiber;
mod first_class;
mod guess;
mod script;
mod scripted_program;
mod setup;
mod task;
mod typed;

pub use entropy::RECORD;
pub use script::write_script;
pub use scripted_program::{SCRIPTED_PROGRAMS, scripted_program};

use super::model::{Author, Machine};
use super::program::{BlockId, Call, Signature};
use block_writer::BlockWriter;
use entropy::Entropy;
use setup::Setup;

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
        let functions = machine.program.functions.iter().enumerate();
        let entries = functions
            .filter(|(_, function)| !function.rout && function.signature == Signature::entry());
        let entries: Vec<_> = entries.map(|(id, _)| id).collect();
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
}

impl Author for Writer<'_> {
    fn write(&mut self, machine: &mut Machine, block: BlockId) {
        if self.entropy.is_empty() || self.written > OPERATIONS {
            machine.program.blocks[block].closed = true;
            return;
        }
        self.written += 1;
        let choice = self.entropy.record();
        BlockWriter::new(machine, &self.setup, choice, block).write();
    }

    fn choose(&mut self, _: &mut Machine) -> i64 {
        unreachable!("these programs have no script")
    }
}
