//! Generated scripts, which are too long and too regular to write by hand. Most run twice, the second
//! time while stacks move.

mod bindings;
mod clauses;
mod frames;
mod pending;
mod places;
mod signatures;

use ropewalk::Engine;
use ropewalk::stress::{self, Mode};
use ropewalk_wast::WastRunner;

/// Runs a script. Every assertion in it must pass.
#[track_caller]
fn check(name: &str, script: &str) {
    check_in(&[stress::DEFAULT, stress::MOVE], name, script);
}

/// The same in some modes.
#[track_caller]
fn check_in(modes: &[Mode], name: &str, script: &str) {
    for mode in modes {
        let engine = Engine::new(&mode.config()).expect("the configuration is supported");
        let report = WastRunner::new(&engine).run_script(name, script);
        assert!(report.failures.is_empty(), "{report}, {}", mode.name);
    }
}

/// Concatenates the texts for all numbers below `count`.
fn repeat(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(|i| text(i) + " ").collect()
}
