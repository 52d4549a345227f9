//! Wherever the engine calls the embedder's code, that code may do anything safe Rust can.
//!
//! The outcome is a result, an error or the embedder's own panic, and the store works afterwards.
//! [`callees`] has a row for each place where the engine calls out, like the table in SECURITY.md.
//! [`acts`] lists what the code does. The other files test what only some places allow.

mod accessor;
mod acts;
mod callees;
mod ending;
mod growth;
mod hooks;
mod panics;
mod program;
mod wakers;

use crate::common::*;
use acts::{ACTS, Act};
use callees::CALLEES;
use program::Program;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// All settings that add places where the engine calls the embedder.
fn config(mode: Mode) -> Config {
    let mut config = Config::new();
    config.interruption(true).consume_fuel(true).trace(true).snapshots(true);
    mode.apply(&mut config);
    config
}

/// The modes that find a store with broken invariants.
const MODES: [Mode; 4] = [CHECK, COLLECT_AND_MOVE, PARK, MINIMAL_STACKS];

/// Has each callee do each act.
fn the_store_survives_callees(mode: Mode) {
    let module = program::module(&config(mode));
    for (callee, run) in CALLEES {
        for act in ACTS {
            let mut program = Program::new(&module, act);
            let panic = catch_unwind(AssertUnwindSafe(|| run(&mut program))).err();
            // Some values of panics panic when they are dropped.
            std::mem::forget(panic);
            let what = format!("{callee}, which {act:?}");
            assert!(program.actor.count() > 0, "the engine did not call {what}");
            program.actor.stop();
            program.works().unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
    }
}

#[test]
fn the_store_survives_callees_with_checked_stacks() {
    the_store_survives_callees(CHECK);
}

#[test]
fn the_store_survives_callees_while_all_moves() {
    the_store_survives_callees(COLLECT_AND_MOVE);
}

#[test]
fn the_store_survives_callees_with_parked_stacks() {
    the_store_survives_callees(PARK);
}

#[test]
fn the_store_survives_callees_with_minimal_stacks() {
    the_store_survives_callees(MINIMAL_STACKS);
}

#[test]
fn a_panic_of_a_callee_continues_where_the_engine_was_called() {
    let module = program::module(&config(CHECK));
    // These run in threads of the engine, or a panic means something else there.
    let elsewhere = ["a writer of traces", "a waker at a deadline"];
    for (callee, run) in CALLEES.iter().filter(|(callee, _)| !elsewhere.contains(callee)) {
        let mut program = Program::new(&module, Act::Panics);
        let panic = catch_unwind(AssertUnwindSafe(|| run(&mut program)));
        let panic = panic.expect_err(callee);
        assert_eq!(panic.downcast_ref::<&str>(), Some(&acts::PANIC), "{callee}");
    }
}
