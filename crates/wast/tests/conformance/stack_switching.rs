//! Runs the official scripts of the stack-switching proposal if they exist beside the project, and
//! prints whether they do. The scripts of this project cover the same behavior.

use crate::{File, files, runner};
use ropewalk::stress::{self, Mode};
use ropewalk_wast::WastRunner;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of the scripts, beside the project's folder.
fn folder() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = project.canonicalize().expect("the project has a folder");
    project.with_file_name("shared").join("spec/stack-switching")
}

fn check(mode: Mode) {
    let scripts = files(folder(), "wast");
    if scripts.is_empty() {
        let folder = folder();
        return say(mode, &format!("skipped, there are no scripts in {}", folder.display()));
    }
    let runner = runner(&mode.config());
    let passed: usize = scripts.iter().map(|script| passes(&runner, script)).sum();
    say(mode, &format!("{} scripts ran, {passed} directives passed", scripts.len()));
}

/// Runs a script, in which every assertion must pass, and counts them.
fn passes(runner: &WastRunner, script: &File) -> usize {
    let report = script.run(runner);
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.passed > 0, "{} asserts something", script.name);
    report.passed
}

/// Prints a line, also for tests that pass.
fn say(mode: Mode, what: &str) {
    let line = format!("official scripts of stack switching, {}: {what}\n", mode.name);
    io::stderr().write_all(line.as_bytes()).expect("standard error can be written");
}

#[test]
fn the_official_scripts_pass() {
    check(stress::DEFAULT);
}

#[test]
fn the_official_scripts_pass_while_always_collecting() {
    check(stress::COLLECT);
}

#[test]
fn the_official_scripts_pass_while_stacks_move() {
    check(stress::MOVE);
}

#[test]
fn the_official_scripts_pass_while_stacks_move_and_always_collecting() {
    check(stress::COLLECT_AND_MOVE);
}
