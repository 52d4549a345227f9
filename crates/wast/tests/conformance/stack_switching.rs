//! Runs the official scripts of the stack-switching proposal if they exist beside the project, and
//! prints whether they do. The scripts of this project cover the same behavior.

use ropewalk::Engine;
use ropewalk::stress::{self, Mode};
use ropewalk_wast::{Report, WastRunner};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of the scripts, beside the project's folder.
fn folder() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = project.canonicalize().expect("the project has a folder");
    project.with_file_name("shared").join("spec/stack-switching")
}

fn scripts() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder()) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "wast")).collect()
}

fn check(mode: Mode) {
    let scripts = scripts();
    if scripts.is_empty() {
        let folder = folder();
        return say(mode, &format!("skipped, there are no scripts in {}", folder.display()));
    }
    let engine = Engine::new(&mode.config()).expect("the configuration is supported");
    let runner = WastRunner::new(&engine);
    let passed: usize = scripts.iter().map(|path| run(&runner, path).passed).sum();
    say(mode, &format!("{} scripts ran, {passed} directives passed", scripts.len()));
}

/// Runs a script. Every assertion in it must pass.
fn run(runner: &WastRunner, path: &Path) -> Report {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).expect("a readable script");
    let report = runner.run_script(&name, &text);
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(report.passed > 0, "{name} asserts something");
    report
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
