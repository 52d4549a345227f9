//! A reader who leaves early is not an error, and no reason to panic. A device that is full is an
//! error, and no reason to panic either.

use std::fs::File;
use std::process::Stdio;

use crate::process::{command, file, outcome, ropewalk};

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

/// All that the command prints: help of every subcommand, and what each prints that prints
/// something.
fn printing() -> Vec<Vec<String>> {
    let help = ropewalk(&["--help"]).stdout;
    let (_, subcommands) = help.split_once("Commands:\n").expect("a list of commands");
    let subcommands = subcommands.lines().take_while(|line| !line.is_empty());
    let subcommands = subcommands.filter(|line| !line[2..].starts_with(' '));
    let names: Vec<&str> = subcommands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 8 && names.contains(&"replay"), "{names:?}");
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
    let helps = names.iter().filter(|name| **name != "help");
    let helps = helps.flat_map(|name| [vec!["help", *name], vec![*name, "--help"]]);
    let all = helps.chain(others);
    all.map(|arguments| arguments.into_iter().map(str::to_string).collect()).collect()
}

#[test]
fn a_full_device_is_an_error_and_a_reader_who_leaves_is_none() {
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
fn errors_that_cannot_be_printed_have_their_code() {
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
