//! Builds scripted programs, which read their next operation from a script.
//!
//! Each function of such a program is a loop that reads a number and runs the operation with that
//! number: resume a continuation, suspend with a tag, call another function. So one program,
//! compiled once, can run any number of scripts. A [`ScriptWriter`](super::script) chooses the
//! numbers by the state of the model.
//!
//! ```text
//!   loop: n := next; case n of
//!     0: return
//!     1: $l7 := cont.new $c0 $fn3
//!     2: resume $c0 (on $e1 ..) (on $e6 ..) $l7
//!     3: suspend $e1 ...
//! ```

use super::basic::{BASIC, CONTROL};
use super::entropy::Choice;
use super::proposer::Proposer;
use super::setup::{self, Setup};
use crate::designs::model::Machine;
use crate::designs::program::{BlockId, Op, Program, Signature, TagId, Ty};
use std::rc::Rc;

/// The number of operations in each function, besides those on globals.
const ARMS: usize = 26;

/// The number of tags: few, so that the same tags meet.
const TAGS: usize = 6;

/// The designs of each program, one bit each: every design alone, every pair, and all.
const DESIGNS: [u8; 16] = [1, 2, 4, 8, 16, 3, 5, 9, 17, 6, 10, 18, 12, 20, 24, 31];

/// The number of scripted programs.
pub const SCRIPTED_PROGRAMS: usize = 32;

/// The limit of function entries and loop iterations in one call of the host.
const FUEL: i64 = 3000;

/// Builds the scripted program with a number.
pub fn scripted_program(number: usize) -> Program {
    let mut choice = Choice::of(number as u64);
    let designs = DESIGNS[number % DESIGNS.len()];
    let designs = std::array::from_fn(|design| designs >> design & 1 != 0);
    let (mut setup, mut program) = setup::with_designs(Setup::scripted(designs), &mut choice);
    setup.favorites = palette(&program, &mut choice);
    program.modules = 1;
    for tag in &mut program.tags {
        tag.module = 0;
    }
    program.fuel = FUEL;
    let entry = program.new_function(0, Signature::entry(), false);
    let mut machine = Machine::new(program);
    let mut proposer = Proposer::new(&mut machine, &setup, choice, entry);
    while proposer.function < proposer.program().functions.len() {
        make(&mut proposer);
        proposer.function += 1;
    }
    for block in &mut machine.program.blocks {
        block.closed = true;
    }
    machine.program
}

/// The tags in use: one of each signature first, from a random start.
fn palette(program: &Program, choice: &mut Choice) -> Vec<TagId> {
    let count = program.tags.len();
    let start = choice.below(count);
    let order = (start..count).chain(0..start).step_by(1 + choice.below(2));
    order.take(TAGS).collect()
}

/// Builds the locals and the loop of a function.
fn make(proposer: &mut Proposer<'_>) {
    let mut types = proposer.program().types.stack_references();
    types.extend([Ty::I64, Ty::I64, Ty::Any, Ty::V128, Ty::Exn]);
    if proposer.program().types.first_class {
        types.extend([Ty::Linear, Ty::Linear]);
    }
    if proposer.program().types.fibers {
        types.push(Ty::Fiber);
    }
    for ty in types {
        proposer.new_local(ty);
    }
    let (number, counter) = (proposer.new_local(Ty::I64), proposer.new_local(Ty::I64));
    let arms = arms(proposer);
    let body = proposer.block(vec![Op::Next { to: number }, Op::Choose { number, arms }]);
    let ops = [Op::Const { to: counter, value: FUEL }, Op::Loop { counter, body }];
    let block = proposer.program().functions[proposer.function].body;
    proposer.machine.program.blocks[block].ops.extend(ops.map(Rc::new));
}

/// The operations of a function, each in a block.
fn arms(proposer: &mut Proposer<'_>) -> Vec<BlockId> {
    let mut arms = vec![proposer.block(vec![Op::Return])];
    for (global, ty) in proposer.program().globals.clone().into_iter().enumerate() {
        let used = match ty {
            Ty::Cont(ty) => proposer.setup.conts.contains(&ty),
            Ty::Stack(ty) => proposer.setup.stacks.contains(&ty),
            Ty::Task(ty) => proposer.setup.tasks.contains(&ty),
            Ty::Fiber | Ty::Linear | Ty::Exn => true,
            _ => false,
        };
        // Skips the second global of most types.
        if !used || global % 2 == 1 && !matches!(ty, Ty::Fiber | Ty::Linear | Ty::Cont(0)) {
            continue;
        }
        let (to, from) = (proposer.any(ty), proposer.any(ty));
        arms.push(proposer.block(vec![Op::GlobalGet { to, global }]));
        arms.push(proposer.block(vec![Op::GlobalSet { global, from }]));
    }
    for _ in 0..ARMS {
        let ops = match proposer.choice.below(10) {
            0 => proposer.propose(|proposer, kind| proposer.basic(kind), BASIC),
            1..=3 => proposer.propose(|proposer, kind| proposer.control(kind), CONTROL),
            _ => proposer.design(),
        };
        arms.extend(ops.map(|ops| proposer.block(ops)));
    }
    arms
}
