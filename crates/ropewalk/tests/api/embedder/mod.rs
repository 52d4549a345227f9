//! Wherever the engine calls code of the embedder, that may do anything that safe Rust can:
//! afterwards there is a result, an error or the embedder's own panic, and the store works.
//!
//! [`callees`] has a row for each place where the engine calls out, as the table in SECURITY.md,
//! [`deeds`] what is done there. The other files have what only some places allow.

mod accessor;
mod callees;
mod deeds;
mod ending;
mod growth;
mod hooks;
mod panics;
mod program;
mod wakers;

use crate::common::*;
use callees::CALLEES;
use deeds::{DEEDS, Deed};
use program::Program;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Everything that adds places where the embedder is called.
fn config(mode: Mode) -> Config {
    let mut config = Config::new();
    config.interruption(true).consume_fuel(true).trace(true).snapshots(true);
    mode.apply(&mut config);
    config
}

/// The modes in which a store that is not whole would be found out.
const MODES: [Mode; 4] = [CHECK, COLLECT_AND_MOVE, PARK, MINIMAL_STACKS];

/// Has each callee do everything.
fn whatever_a_callee_does_the_store_works(mode: Mode) {
    let engine = Engine::new(&config(mode)).unwrap();
    for (callee, run) in CALLEES {
        for deed in DEEDS {
            let mut program = Program::new(&engine, deed);
            let panic = catch_unwind(AssertUnwindSafe(|| run(&mut program))).err();
            // Some of them panic when they are dropped.
            std::mem::forget(panic);
            let what = format!("{callee}, which {deed:?}");
            assert!(program.deed.count() > 0, "nobody called {what}");
            program.deed.stop();
            program.works().unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
    }
}

#[test]
fn whatever_a_callee_does_the_store_works_with_checked_stacks() {
    whatever_a_callee_does_the_store_works(CHECK);
}

#[test]
fn whatever_a_callee_does_the_store_works_while_all_moves() {
    whatever_a_callee_does_the_store_works(COLLECT_AND_MOVE);
}

#[test]
fn whatever_a_callee_does_the_store_works_with_parked_stacks() {
    whatever_a_callee_does_the_store_works(PARK);
}

#[test]
fn whatever_a_callee_does_the_store_works_with_minimal_stacks() {
    whatever_a_callee_does_the_store_works(MINIMAL_STACKS);
}

#[test]
fn a_panic_of_a_callee_continues_where_the_engine_was_called() {
    let engine = Engine::new(&config(CHECK)).unwrap();
    // These run in threads of the engine, or where a panic has another meaning.
    let elsewhere = ["a writer of traces", "a waker at a deadline"];
    for (callee, run) in CALLEES.iter().filter(|(callee, _)| !elsewhere.contains(callee)) {
        let mut program = Program::new(&engine, Deed::Panics);
        let panic = catch_unwind(AssertUnwindSafe(|| run(&mut program)));
        let panic = panic.expect_err(callee);
        assert_eq!(panic.downcast_ref::<&str>(), Some(&deeds::PANIC), "{callee}");
    }
}
