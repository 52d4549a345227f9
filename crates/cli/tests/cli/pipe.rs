//! Broken pipes are not errors, full devices are, and neither causes a panic.

use std::fs::File;
use std::process::Stdio;

use crate::process::{command, file, outcome, ropewalk, subcommands};

/// Runs the command with a standard output whose reader is gone.
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
fn a_broken_pipe_drops_results() {
    let results = "i32 ".repeat(900);
    let values = "(i32.const 7)".repeat(900);
    let func = format!("(func (export \"f\") (result {results}) {values})");
    let module = file("many.wat", func);
    let (code, stderr) = unread(&["run", "--invoke", "f", &module]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
fn failures_count_after_a_broken_pipe() {
    let script = file("fails.wast", "(assert_invalid (module) \"\")".repeat(5000));
    let (code, stderr) = unread(&["wast", &script]);
    assert_eq!((code, stderr.as_str()), (Some(1), ""));
}

#[test]
fn a_broken_pipe_drops_help() {
    let (code, stderr) = unread(&["--help"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

/// Command lines that print: the help of every subcommand, and all other output.
fn printing() -> Vec<Vec<String>> {
    let names = subcommands();
    assert!(names.len() > 8 && names.iter().any(|name| name == "replay"), "{names:?}");
    let two = file("pipe-two.wat", "(func (export \"two\") (result i32) (i32.const 2))");
    let start = file("pipe-start.wat", "(func (export \"_start\"))");
    let script = file("pipe.wast", "(module)");
    let trace = file("pipe-trace", "");
    ropewalk(&["run", "--trace", &trace, &start]).prints("");
    let tape = file("pipe-recording", "");
    ropewalk(&["run", "--record", &tape, "--invoke", "two", &two]).prints("2\n");
    let others = [
        vec!["--help"],
        vec!["-h"],
        vec!["--version"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["run", "--invoke", "two", &two],
        vec!["replay", &tape],
        vec!["lower", &two],
        vec!["lower", &two, "-o", "-"],
        vec!["compile", &two, "-o", "-"],
        vec!["wast", &script],
        vec!["trace", &trace, "--svg", "-o", "-"],
        vec!["run", "--trace", "-", &start],
        vec!["run", "--record", "-", &start],
    ];
    let helps = names.iter().flat_map(|name| [vec!["help", name], vec![name, "--help"]]);
    let all = helps.chain(others);
    all.map(|arguments| arguments.into_iter().map(str::to_string).collect()).collect()
}

#[test]
fn full_devices_are_errors_and_broken_pipes_are_not() {
    for arguments in printing() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = command(&arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let ended = outcome(ended);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        let says = "to the standard output: No space left";
        assert!(ended.stderr.contains(says), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.lines().count() <= 2, "{arguments:?}: {ended:?}");
        let (code, stderr) = unread(&arguments);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn errors_that_cannot_be_printed_keep_their_exit_code() {
    for (arguments, code) in [
        (vec!["run", "/nowhere"], 1),
        (vec!["nothing-such"], 1),
        (vec!["run", "--no-such-option", "x"], 1),
        (vec!["validate", "/nowhere"], 1),
        (vec!["trace", "/nowhere"], 1),
    ] {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let status = command(&arguments).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}
