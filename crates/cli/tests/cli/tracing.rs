//! `ropewalk run --trace`: the contents of the file, and when it is written.

use crate::process::{absent, command, file, root, ropewalk};
use ropewalk::traces::{EventKind, Trace};

fn read(path: &str) -> Trace {
    let reading = Trace::read(&std::fs::read(path).unwrap()).expect("a trace");
    assert!(reading.is_whole);
    reading.trace
}

const GENERATOR: &str = "\
(module $m
  (type $f (func)) (type $c (cont $f)) (tag $yield (param i32))
  (elem declare func $body)
  (func $body (suspend $yield (i32.const 41)))
  (func (export \"run\")
    (block $on (result i32 (ref $c))
      (resume $c (on $yield $on) (cont.new $c (ref.func $body)))
      (return))
    (drop) (drop))
  (func (export \"fail\") (unreachable)))";

#[test]
fn a_trace_has_the_switches_of_a_program_and_their_lines() {
    let path = file("tracing.wat", GENERATOR);
    let trace = absent("tracing.rwtrace");
    ropewalk(&["run", "--invoke", "run", "--trace", &trace, &path]).prints("");
    let trace = read(&trace);
    assert_eq!((trace.name.as_str(), trace.dropped), (path.as_str(), 0));
    let suspend = trace.events.iter().find_map(|event| match &event.what {
        EventKind::Suspend { values, tag, .. } => Some((event, values.as_str(), tag.unwrap())),
        _ => None,
    });
    let (event, values, tag) = suspend.expect("it suspends");
    assert_eq!((values, trace.tags[tag.index()].name.as_str()), ("41", "yield"));
    let frame = trace.frames(event.frames).next().unwrap();
    let position = &trace.positions[frame.position.unwrap().index()];
    assert_eq!((position.file.as_str(), position.line), (path.as_str(), 4));
}

#[test]
fn the_trace_of_a_program_that_fails_is_written_too() {
    let path = file("tracing-fails.wat", GENERATOR);
    let trace = absent("tracing-fails.rwtrace");
    ropewalk(&["run", "--invoke", "fail", "--trace", &trace, &path]).fails(134, &["unreachable"]);
    let is_trap =
        |what: &EventKind| matches!(what, EventKind::Trap { message } if message == "unreachable");
    assert!(read(&trace).events.iter().any(|event| is_trap(&event.what)));
}

#[test]
fn a_limit_keeps_the_last_events() {
    let path = file("tracing-limit.wat", GENERATOR);
    let trace = absent("tracing-limit.rwtrace");
    let arguments = ["run", "--invoke", "run", "--trace", &trace, "--trace-limit", "2", &path];
    ropewalk(&arguments).prints("");
    let trace = read(&trace);
    assert_eq!((trace.events.len(), trace.dropped), (2, 3));
    let outcome = ropewalk(&["run", "--trace-limit", "2", &path]);
    outcome.fails(1, &["--trace <FILE>"]);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_before_the_program_runs() {
    let path = file("tracing-nowhere.wat", GENERATOR);
    let outcome = ropewalk(&["run", "--invoke", "fail", "--trace", "/nowhere/trace", &path]);
    outcome.fails(1, &["cannot write the trace /nowhere/trace"]);
    assert!(!outcome.stderr.contains("unreachable"), "{outcome:?}");
}

#[test]
fn every_example_can_be_recorded() {
    let trace = absent("tracing-example.rwtrace");
    for example in [
        "continuations-actors",
        "bag-generator",
        "task-generator",
        "fiber-elements",
        "first-class-threads",
    ] {
        let path = root().join(format!("examples/{example}.wat"));
        let path = path.to_str().unwrap();
        let head = std::fs::read_to_string(path).unwrap();
        let command = head.lines().find_map(|line| line.split("run --invoke ").nth(1));
        let command = command.unwrap_or_else(|| panic!("{example} does not say how to run it"));
        let words: Vec<&str> = command.split_whitespace().collect();
        let plain = [&["run", "--invoke"], &words[..]].concat();
        let traced = [&["run", "--trace", &trace, "--invoke"], &words[..]].concat();
        ropewalk(&traced).prints(&ropewalk(&plain).stdout);
        assert!(read(&trace).events.len() > 4, "{example}");
    }
}

/// A generator that never ends.
const ENDLESS: &str = "\
(module $m
  (type $f (func)) (type $c (cont $f)) (tag $yield)
  (elem declare func $body)
  (func $body (loop $l (suspend $yield) (br $l)))
  (func $step (param $c (ref null $c)) (result (ref null $c))
    (block $on (result (ref $c))
      (resume $c (on $yield $on) (local.get $c))
      (unreachable)))
  (func (export \"switches\") (local $c (ref null $c))
    (local.set $c (cont.new $c (ref.func $body)))
    (loop $l (local.set $c (call $step (local.get $c))) (br $l))))";

#[test]
fn the_trace_of_a_killed_program_can_be_read() {
    let path = file("tracing-killed.wat", ENDLESS);
    let trace = absent("tracing-killed.rwtrace");
    let mut run = command(&["run", "--invoke", "switches", "--trace", &trace, &path]);
    let mut child = run.spawn().unwrap();
    let begun = std::time::Instant::now();
    let written = || std::fs::metadata(&trace).map_or(0, |file| file.len());
    while written() < 100_000 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nothing is written");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let reading = Trace::read(&std::fs::read(&trace).unwrap()).expect("a trace");
    assert!(!reading.is_whole);
    assert!(reading.trace.events.len() > 1000);
    let suspends = |what: &EventKind| matches!(what, EventKind::Suspend { .. });
    assert!(reading.trace.events.iter().any(|event| suspends(&event.what)));
    let page = absent("tracing-killed.html");
    let outcome = ropewalk(&["trace", &trace, "-o", &page]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    std::fs::remove_file(&trace).unwrap();
}
