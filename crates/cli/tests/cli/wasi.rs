//! Programs that use WASI.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Outcome, absent, command, file, outcome, ropewalk, with_input};

/// Imports and functions for the programs of these tests.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args-sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get"
    (func $env-sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $print (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $len))
    (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
"#;

fn program(name: &str, rest: &str) -> String {
    file(&format!("wasi-{name}.wat"), format!("(module {PRELUDE} {rest})"))
}

/// A program that prints its arguments, each followed by a zero.
fn echo(name: &str) -> String {
    let text = r#"(func (export "_start")
             (drop (call $args-sizes (i32.const 16) (i32.const 20)))
             (drop (call $args (i32.const 32) (i32.const 1024)))
             (drop (call $print (i32.const 1024) (i32.load (i32.const 20)))))"#;
    program(name, text)
}

#[test]
fn arguments_after_the_file_are_passed_to_the_program() {
    let program = echo("echo");
    ropewalk(&["run", &program]).prints("wasi-echo.wat\0");
    let arguments = ["run", &program, "--dir", "-x", "--", "a b", ""];
    ropewalk(&arguments).prints("wasi-echo.wat\0--dir\0-x\0--\0a b\0\0");
    ropewalk(&[&program, "--help"]).prints("wasi-echo.wat\0--help\0");
}

#[test]
fn a_program_has_only_the_granted_environment() {
    let text = r#"(func (export "_start")
             (drop (call $env-sizes (i32.const 16) (i32.const 20)))
             (drop (call $env (i32.const 32) (i32.const 1024)))
             (drop (call $print (i32.const 1024) (i32.load (i32.const 20)))))"#;
    let program = program("environment", text);
    ropewalk(&["run", &program]).prints("");
    ropewalk(&["run", "--env", "A=1", "--env", "B=x=y", &program]).prints("A=1\0B=x=y\0");
    let mut inheriting = command(&["run", "--env", "ROPEWALK_TEST", &program]);
    let output = inheriting.env("ROPEWALK_TEST", "here").output().unwrap();
    assert_eq!(output.stdout, b"ROPEWALK_TEST=here\0");
    // A variable that is not set in this process is not set in the program.
    ropewalk(&["run", "--env", "ROPEWALK_MISSING", "--env", "A=1", &program]).prints("A=1\0");
    ropewalk(&["run", "--env", "=1", &program]).fails(1, &["--env =1: expected NAME=VALUE"]);
}

#[test]
fn the_exit_code_is_the_program_s() {
    for (code, expected) in [(0, 0), (1, 1), (42, 42), (255, 255), (256, 0)] {
        let body = format!("(func (export \"_start\") (call $exit (i32.const {code})))");
        let program = program(&format!("exit-{code}"), &body);
        let Outcome { code, stdout, stderr } = ropewalk(&["run", &program]);
        assert_eq!((code, &*stdout, &*stderr), (Some(expected), "", ""));
    }
}

#[test]
fn a_trap_of_a_program_has_a_backtrace() {
    let body = r#"(func $deep unreachable) (func (export "_start") (call $deep))"#;
    let program = program("trap", body);
    ropewalk(&["run", &program]).fails(134, &["unreachable", "wasm backtrace", "!deep"]);
}

#[test]
fn standard_streams_are_those_of_the_command() {
    let body = r#"(func (export "_start")
        (i32.store (i32.const 16) (i32.const 1024))
        (i32.store (i32.const 20) (i32.const 100))
        (drop (call $read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
        (drop (call $print (i32.const 1024) (i32.load (i32.const 24)))))"#;
    with_input(&["run", &program("cat", body)], "some text").prints("some text");
}

/// A program that exits with the error of opening a file in its first directory.
fn open(name: &str, path: &str) -> String {
    let body = format!(
        r#"(data (i32.const 64) "{path}")
           (func (export "_start")
             (call $exit (call $open (i32.const 3) (i32.const 1) (i32.const 64)
               (i32.const {}) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0)
               (i32.const 32))))"#,
        path.len()
    );
    program(name, &body)
}

#[test]
fn a_program_has_only_the_granted_directories() {
    let (fib, escape) = (open("fib", "fib.wat"), open("escape", "../README.md"));
    let code = |arguments: &[&str]| ropewalk(arguments).code;
    assert_eq!(code(&["run", "--dir", "examples", &fib]), Some(0));
    assert_eq!(code(&["run", "--dir", "examples::/", &fib]), Some(0));
    assert_eq!(code(&["run", "--dir", "docs", &fib]), Some(44));
    assert_eq!(code(&["run", &fib]), Some(8));
    assert_eq!(code(&["run", "--dir", "examples", &escape]), Some(63));
    let missing = ropewalk(&["run", "--dir", "no/such", &fib]);
    missing.fails(1, &["cannot open the directory no/such", "No such file"]);
    ropewalk(&["run", "--dir", "::x", &fib]).fails(1, &["HOST::GUEST"]);
}

#[test]
fn a_broken_pipe_ends_a_program_without_a_message() {
    let body = r#"(data (i32.const 64) "line\n")
        (func (export "_start")
          (loop $again (drop (call $print (i32.const 64) (i32.const 5))) (br $again)))"#;
    let program = program("endless", body);
    let mut child =
        command(&["run", &program]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "line\n");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*stderr), (Some(141), ""));
}

#[test]
fn an_interrupt_by_the_user_ends_a_program_without_a_message() {
    let computes = "(loop $again (br $again))";
    let waits = "(drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))";
    for (name, body) in [("computes", computes), ("waits", waits)] {
        let body = format!(
            r#"(data (i32.const 64) "ready\n")
               (func (export "_start") (drop (call $print (i32.const 64) (i32.const 6))) {body})"#
        );
        let program = program(name, &body);
        // The signal is ignored in background jobs of a shell, which the program would inherit.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_ropewalk"), "run", &program]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        // The standard input stays open until the program has ended.
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!((output.status.signal(), &*output.stderr), (Some(2), &b""[..]), "{name}");
    }
}

#[test]
fn a_timeout_ends_a_program() {
    let computes = "(func $spin (loop $again (br $again)))";
    let waits = "(func $spin
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8))))";
    for (name, spin) in [("too-long", computes), ("waits-too-long", waits)] {
        let program = program(name, &format!("{spin} (func (export \"_start\") (call $spin))"));
        let mut command = command(&["run", "--timeout", "500ms", &program]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = Instant::now();
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let outcome = outcome(child.wait_with_output().unwrap());
        drop(stdin);
        outcome.fails(134, &["the program did not end within 500ms", "!spin"]);
        assert!(before.elapsed() < Duration::from_secs(20));
    }
    // The time limit includes the start function.
    let start = program("starts-too-long", "(func $f (loop $again (br $again))) (start $f)");
    let says = ["the program did not end within 500ms", "!f"];
    ropewalk(&["run", "--timeout", "500ms", &start]).fails(134, &says);
}

#[test]
fn a_timeout_ends_a_program_that_waits_for_a_named_pipe() {
    let pipe = absent("wasi-timeout.fifo");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let folder = Path::new(&pipe).parent().unwrap().to_str().unwrap();
    // Opening to write waits for a reader, and reading for a writer.
    for (name, rights, then) in [
        ("writes-fifo", 64, ""),
        ("reads-fifo", 2, "(i32.store (i32.const 4) (i32.const 9)) (i32.store (i32.const 0) (i32.const 1024))
            (drop (call $read (i32.load (i32.const 32)) (i32.const 0) (i32.const 1) (i32.const 8)))"),
    ] {
        let body = format!(
            r#"(data (i32.const 64) "wasi-timeout.fifo")
               (func (export "_start")
                 (if (call $open (i32.const 3) (i32.const 1) (i32.const 64) (i32.const 17)
                   (i32.const 0) (i64.const {rights}) (i64.const 0) (i32.const 0) (i32.const 32))
                   (then (call $exit (i32.const 1))))
                 {then})"#
        );
        let program = program(name, &body);
        let outcome = ropewalk(&["run", "--timeout", "500ms", "--dir", folder, &program]);
        outcome.fails(134, &["the program did not end within 500ms"]);
    }
    std::fs::remove_file(pipe).unwrap();
}

/// A program that tries to change the file that its standard output goes to. The exit code
/// names the function that allowed it.
const DAMAGES: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pwrite"
    (func $pwrite (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread"
    (func $pread (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_size"
    (func $set-size (param i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_times"
    (func $set-times (param i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate" (func $allocate (param i32 i64 i64) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\05\00\00\00") (data (i32.const 16) "more\n")
  (func $check (param $errno i32) (param $expected i32) (param $number i32)
    (if (i32.ne (local.get $errno) (local.get $expected))
      (then (call $exit (local.get $number)))))
  (func (export "_start") (local $fd i32)
    (local.set $fd (i32.const 1))
    (loop $next
      (call $check (call $set-size (local.get $fd) (i64.const 0)) (i32.const 8) (i32.const 1))
      (call $check (call $allocate (local.get $fd) (i64.const 0) (i64.const 4096))
        (i32.const 8) (i32.const 2))
      (call $check (call $set-times (local.get $fd) (i64.const 0) (i64.const 0) (i32.const 4))
        (i32.const 76) (i32.const 3))
      (call $check
        (call $pwrite (local.get $fd) (i32.const 0) (i32.const 1) (i64.const 0) (i32.const 8))
        (i32.const 70) (i32.const 4))
      (call $check
        (call $pread (local.get $fd) (i32.const 0) (i32.const 1) (i64.const 0) (i32.const 8))
        (i32.const 70) (i32.const 5))
      (call $check (call $seek (local.get $fd) (i64.const 0) (i32.const 0) (i32.const 8))
        (i32.const 70) (i32.const 6))
      (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
      (br_if $next (i32.eq (local.get $fd) (i32.const 2))))
    (call $check (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))
      (i32.const 0) (i32.const 7))))"#;

#[test]
fn a_program_only_adds_to_the_file_that_its_output_goes_to() {
    let program = file("wasi-damages.wat", DAMAGES);
    for append in [false, true] {
        let log = file(&format!("wasi-log-{append}"), "a line\n");
        let mut output = std::fs::File::options().write(true).append(append).open(&log).unwrap();
        output.seek(SeekFrom::End(0)).unwrap();
        let mut command = command(&["run", &program]);
        command.stdout(output.try_clone().unwrap()).stderr(output);
        assert_eq!(command.status().unwrap().code(), Some(0));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "a line\nmore\n");
    }
}

#[test]
fn a_time_limit_does_not_affect_a_program_that_ends_in_time() {
    let body = r#"(data (i32.const 64) "done\n")
        (func (export "_start") (drop (call $print (i32.const 64) (i32.const 5)))
          (call $exit (i32.const 3)))"#;
    let in_time = program("in-time", body);
    for time in ["60", "60s", "60000ms", "1m", "1.5m", "1h", "1000000h"] {
        let outcome = ropewalk(&["run", "--timeout", time, &in_time]);
        assert_eq!((outcome.code, &*outcome.stdout), (Some(3), "done\n"));
    }
    let traps = program("traps-in-time", "(func (export \"_start\") unreachable)");
    let outcome = ropewalk(&["run", "--timeout", "60", &traps]);
    outcome.fails(134, &["unreachable"]);
    assert!(!outcome.stderr.contains("did not end"), "{outcome:?}");
    for time in ["", "x", "1d", "-1"] {
        let time = format!("--timeout={time}");
        ropewalk(&["run", &time, &in_time]).fails(1, &["--timeout", "expected a time, such as"]);
    }
    let says = ["--timeout", "expected a time of at most 1000000h"];
    ropewalk(&["run", "--timeout=999999999999999999", &in_time]).fails(1, &says);
}

#[test]
fn a_module_may_come_from_the_standard_input() {
    let text = std::fs::read_to_string(Path::new(&echo("echo-stdin"))).unwrap();
    with_input(&["run", "-", "x"], &text).prints("-\0x\0");
}
