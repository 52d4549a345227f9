//! A reader who leaves early is not an error, and no reason to panic.

use std::process::Stdio;

use crate::process::{command, file};

/// Runs the command with a standard output that nobody reads.
fn unread(arguments: &[&str]) -> (Option<i32>, String) {
    let mut child = command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn results_that_nobody_reads_are_dropped() {
    let results = "i32 ".repeat(900);
    let values = "(i32.const 7)".repeat(900);
    let func = format!("(func (export \"f\") (result {results}) {values})");
    let module = file("many.wat", func);
    let (code, stderr) = unread(&["run", "--invoke", "f", &module]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
fn failures_that_nobody_reads_still_count() {
    let script = file("fails.wast", "(assert_invalid (module) \"\")".repeat(5000));
    let (code, stderr) = unread(&["wast", &script]);
    assert_eq!((code, stderr.as_str()), (Some(1), ""));
}

#[test]
fn help_that_nobody_reads_is_dropped() {
    let (code, stderr) = unread(&["--help"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}
