//! Runs the scripts in `scripts/`. Each is named after the property that it
//! shows, and must pass whole, also while stacks move, and while every
//! allocation collects garbage.

use std::fs;
use std::path::{Path, PathBuf};

use ropewalk::{Config, Engine};
use ropewalk_wast::{Report, WastRunner};

#[test]
fn every_script_passes() {
    check(&Config::new());
}

#[test]
fn every_script_passes_while_stacks_move() {
    check(Config::new().move_stacks(true));
}

#[test]
fn every_script_passes_while_every_allocation_collects() {
    check(Config::new().collect_always(true));
}

#[test]
fn every_script_passes_while_stacks_move_and_every_allocation_collects() {
    check(Config::new().move_stacks(true).collect_always(true));
}

fn check(config: &Config) {
    let runner = WastRunner::new(&Engine::new(config).expect("the configuration is supported"));
    let mut total = Report::default();
    for script in scripts() {
        let name = script.file_name().expect("a script has a name").to_string_lossy();
        let text = fs::read_to_string(&script).expect("a script is text");
        total.merge(runner.run_script(&name, &text));
    }
    assert!(total.passed > 0, "there are no scripts");
    assert!(total.failures.is_empty(), "{total}");
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = fs::read_dir(folder).expect("the folder exists");
    let mut scripts: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    scripts.sort();
    scripts
}
