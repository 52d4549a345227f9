//! Runs the official scripts of the stack-switching proposal where they lie
//! beside the project. Our own scripts cover the same, everywhere.

use ropewalk::Engine;
use ropewalk::stress::{self, Mode};
use ropewalk_wast::WastRunner;
use std::path::{Path, PathBuf};

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/stack-switching");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "wast")).collect()
}

fn check(mode: Mode) {
    let runner =
        WastRunner::new(&Engine::new(&mode.config()).expect("the configuration is supported"));
    for path in scripts() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable script");
        let report = runner.run_script(&name, &text);
        let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        assert!(report.passed > 0, "{name} asserts something");
    }
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
