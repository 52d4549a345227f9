//! `ropewalk run --record` and `ropewalk replay`.

use std::path::Path;

use ropewalk::traces::{EventKind, Trace};

use crate::process::{Outcome, command, file, outcome, ropewalk, with_input};

/// A program that reads its standard input, prints it with a random number and the time as
/// letters, and exits with the first byte that it read.
const PROGRAM: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  ;; The lowest four bits of a byte, as a letter.
  (func $letter (param $at i32)
    (i32.store8 (local.get $at)
      (i32.add (i32.const 65) (i32.and (i32.const 15) (i32.load8_u (local.get $at))))))
  (func $letters (param $at i32) (param $end i32)
    (loop $more
      (call $letter (local.get $at))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $at) (local.get $end)))))
  (func $print (param $fd i32) (param $at i32) (param $len i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $len))
    (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 512))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $print (i32.const 1) (i32.const 1024) (i32.load (i32.const 8)))
    (drop (call $random (i32.const 2048) (i32.const 8)))
    (drop (call $time (i32.const 0) (i64.const 1) (i32.const 2056)))
    (call $letters (i32.const 2048) (i32.const 2064))
    (call $print (i32.const 2) (i32.const 2048) (i32.const 16))
    ;; From now on its standard error is its standard output.
    (drop (call $renumber (i32.const 1) (i32.const 2)))
    (call $print (i32.const 2) (i32.const 2048) (i32.const 8))
    (call $exit (i32.load8_u (i32.const 1024)))))"#;

fn recording(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.into_os_string().into_string().expect("the path is text")
}

#[test]
fn a_replay_repeats_the_recorded_run() {
    let program = file("replay-program.wat", PROGRAM);
    let tape = recording("replay-program.recording");
    let first = with_input(&["run", "--record", &tape, &program], "*text");
    assert_eq!(first.code, Some(i32::from(b'*')), "{first:?}");
    assert!(first.stdout.starts_with("*text") && first.stderr.len() == 16, "{first:?}");
    let other = with_input(&["run", &program], "*text");
    assert_ne!((&other.stdout, &other.stderr), (&first.stdout, &first.stderr));
    for _ in 0..2 {
        let Outcome { code, stdout, stderr } = ropewalk(&["replay", &tape]);
        let again = (code, stdout, stderr);
        assert_eq!(again, (first.code, first.stdout.clone(), first.stderr.clone()));
    }
    // In another directory, with the path of the recorded run.
    let name = "target-relative.wat";
    let directory = Path::new(&program).parent().unwrap();
    file(name, PROGRAM);
    let tape = recording("replay-relative.recording");
    let mut run = command(&["run", "--record", &tape, name]);
    let first = outcome(run.current_dir(directory).output().unwrap());
    let again = ropewalk(&["replay", &tape]);
    assert_eq!((again.code, again.stdout, again.stderr), (first.code, first.stdout, first.stderr));
}

#[test]
fn a_replay_prints_the_results_of_a_function() {
    let body = r#"(module
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "roll") (param $more i64) (result i64)
          (drop (call $random (i32.const 0) (i32.const 8)))
          (i64.add (local.get $more) (i64.load (i32.const 0)))))"#;
    let (program, tape) = (file("replay-roll.wat", body), recording("replay-roll.recording"));
    let first = ropewalk(&["run", "--record", &tape, "--invoke", "roll", &program, "3"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    ropewalk(&["replay", &tape]).prints(&first.stdout);
}

#[test]
fn a_replay_repeats_a_trap() {
    let body = r#"(module
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func $fail (unreachable))
        (func (export "_start") (drop (call $random (i32.const 0) (i32.const 8))) (call $fail)))"#;
    let (program, tape) = (file("replay-trap.wat", body), recording("replay-trap.recording"));
    let first = ropewalk(&["run", "--record", &tape, &program]);
    first.fails(134, &["unreachable", "!fail"]);
    let again = ropewalk(&["replay", &tape]);
    assert_eq!((again.code, again.stderr), (first.code, first.stderr));
}

#[test]
fn damaged_and_outdated_recordings_are_refused() {
    let program = file("replay-changes.wat", PROGRAM);
    let tape = recording("replay-changes.recording");
    let first = with_input(&["run", "--record", &tape, &program], "*");
    assert_eq!(first.code, Some(42), "{first:?}");
    let bytes = std::fs::read(&tape).unwrap();

    // The program has changed.
    file("replay-changes.wat", format!("{PROGRAM} ;; and more"));
    let changed = "is not the module that was recorded: it has changed since";
    ropewalk(&["replay", &tape]).fails(1, &["replay-changes.wat", changed]);
    file("replay-changes.wat", PROGRAM);

    // The recording is truncated, or is another file.
    let cut = file("replay-cut.recording", &bytes[..bytes.len() - 1]);
    let shortened = ropewalk(&["replay", &cut]);
    assert_eq!(shortened.code, Some(1), "{shortened:?}");
    assert!(shortened.stderr.contains("the recording ends here, after"), "{shortened:?}");
    for len in [0, 10, 20, 30] {
        let cut = file("replay-cut.recording", &bytes[..len]);
        ropewalk(&["replay", &cut]).fails(1, &["replay-cut.recording"]);
    }
    ropewalk(&["replay", &program]).fails(1, &["is not a recording", "ropewalk run --record"]);
    ropewalk(&["replay", "missing.recording"]).fails(1, &["cannot read missing.recording"]);
    ropewalk(&["replay", "examples"]).fails(1, &["examples is a directory, not a file"]);

    // The standard input and pipes cannot be read twice.
    for input in ["-", "/dev/stdin"] {
        ropewalk(&["run", "--record", &tape, input])
            .fails(1, &["`replay` could not read it again"]);
    }
}

/// A generator that suspends a random number of times.
const SWITCHES: &str = r#"(module $m
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (type $f (func)) (type $c (cont $f)) (tag $yield (param i32))
  (memory (export "memory") 1)
  (elem declare func $body)
  (func $body (local $i i32)
    (loop $l
      (suspend $yield (local.tee $i (i32.add (local.get $i) (i32.const 1))))
      (br_if $l (i32.lt_u (local.get $i)
        (i32.add (i32.const 2) (i32.and (i32.const 7) (i32.load (i32.const 0))))))))
  (func (export "_start") (local $c (ref null $c))
    (drop (call $random (i32.const 0) (i32.const 4)))
    (local.set $c (cont.new $c (ref.func $body)))
    (loop $more
      (block $on (result i32 (ref $c)) (resume $c (on $yield $on) (local.get $c)) (return))
      (local.set $c) (drop) (br $more))))"#;

#[test]
fn a_replay_is_traced_and_shows_the_stacks_at_any_event() {
    let program = file("replay-switches.wat", SWITCHES);
    let tape = recording("replay-switches.recording");
    let first = recording("replay-switches-1.rwtrace");
    ropewalk(&["run", "--record", &tape, "--trace", &first, &program]).prints("");
    let read = |path: &str| Trace::read(&std::fs::read(path).unwrap()).unwrap();
    let recorded = read(&first).trace;
    std::fs::remove_file(&first).unwrap();
    let trace = recording("replay-switches-2.rwtrace");
    ropewalk(&["replay", "--trace", &trace, &tape]).prints("");
    assert!(!Path::new(&first).exists(), "the trace of the run is not written again");
    let replayed = read(&trace).trace;
    let whats = |trace: &Trace| trace.events.iter().map(|e| e.what.clone()).collect::<Vec<_>>();
    assert_eq!(whats(&replayed), whats(&recorded));
    let is_suspend =
        |what: &EventKind| matches!(what, EventKind::Suspend { values, .. } if values == "2");
    let second = whats(&replayed).iter().position(is_suspend).expect("it suspends twice") + 1;

    // Each replay shows the same stacks at the event.
    let at = |event: usize| ropewalk(&["replay", "--at", &event.to_string(), &tape]);
    let suspended = at(second);
    assert_eq!((suspended.code, suspended.stderr.as_str()), (Some(0), ""), "{suspended:?}");
    let head = format!("after event {second}: 2 stacks\n");
    assert!(suspended.stdout.starts_with(&head), "{suspended:?}");
    assert!(suspended.stdout.contains(": root, running"), "{suspended:?}");
    assert!(suspended.stdout.contains(": continuation, suspended  m!body"), "{suspended:?}");
    assert!(suspended.stdout.contains("replay-switches.wat:8:"), "{suspended:?}");
    assert_eq!(at(second).stdout, suspended.stdout);
    let resumed = at(second + 1);
    assert!(resumed.stdout.contains(": continuation, running"), "{resumed:?}");
    assert!(resumed.stdout.contains(": root, waiting"), "{resumed:?}");

    // A trace up to the event is complete.
    ropewalk(&["replay", "--trace", &trace, "--at", &second.to_string(), &tape]);
    let reading = read(&trace);
    assert_eq!((reading.is_whole, reading.trace.events.len()), (true, second));

    at(1_000_000).fails(1, &["the program ended before event 1000000"]);
    at(0).fails(1, &["--at"]);
}

#[test]
fn a_changed_byte_of_a_recording_is_detected() {
    let program = file("replay-flips.wat", PROGRAM);
    let tape = recording("replay-flips.recording");
    let first = with_input(&["run", "--record", &tape, &program], "*");
    assert_eq!(first.code, Some(42), "{first:?}");
    let bytes = std::fs::read(&tape).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let flipped = file("replay-flipped.recording", &flipped);
        let outcome = ropewalk(&["replay", &flipped]);
        assert_eq!(outcome.code, Some(1), "byte {at}: {outcome:?}");
        let is_found =
            ["is damaged", "not a recording"].iter().any(|it| outcome.stderr.contains(it));
        assert!(is_found, "byte {at}: {outcome:?}");
    }
}

/// A program that asks for random numbers, prints a line and exits with a code.
const ENDS: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 16) (data (i32.const 16) "line\n")
  (func (export "_start")
    (drop (call $random (i32.const 1000) (i32.const 1000000)))
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const 5))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $exit (i32.const CODE))))"#;

#[test]
fn a_failure_to_write_a_recording_is_an_error_after_the_program() {
    for (ends, code) in [(0, 1), (7, 7)] {
        let program = file("replay-ends.wat", ENDS.replace("CODE", &ends.to_string()));
        let full = ropewalk(&["run", "--record", "/dev/full", &program]);
        // Its header cannot be written.
        full.fails(1, &["cannot write the recording /dev/full: No space left"]);
        let tape = recording("replay-ends.recording");
        let limited = ["run", "--max-recorded", "100K", "--record", &tape, &program];
        let limited = ropewalk(&limited);
        assert_eq!((limited.code, &*limited.stdout), (Some(code), "line\n"), "{limited:?}");
        let says = format!(
            "cannot write the recording {tape}: it has reached the size that --max-recorded"
        );
        assert!(limited.stderr.contains(&says), "{limited:?}");
        assert!(std::fs::metadata(&tape).unwrap().len() < (101 << 10));
        ropewalk(&["replay", &tape]).fails(1, &["the recording ends here, after 0 calls"]);
        let whole = ropewalk(&["run", "--max-recorded", "2M", "--record", &tape, &program]);
        assert_eq!((whole.code, &*whole.stderr), (Some(ends), ""), "{whole:?}");
        let again = ropewalk(&["replay", &tape]);
        assert_eq!((again.code, &*again.stdout), (Some(ends), "line\n"), "{again:?}");
    }
}
