//! `ropewalk run --snapshot-on` and `ropewalk resume`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ropewalk::traces::Trace;

use crate::process::{command, file, outcome, ropewalk};

fn output(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path.into_os_string().into_string().expect("the path is text")
}

/// A program that suspends with a tag between the lines that it prints.
const STEPS: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (tag $checkpoint (export "checkpoint"))
  (memory (export "memory") 1) (data (i32.const 100) "step 0\n")
  (func (export "_start") (local $i i32)
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const 7))
    (loop $next
      (i32.store8 (i32.const 105) (i32.add (i32.const 48) (local.get $i)))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (suspend $checkpoint)
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 3))))))"#;

#[test]
fn a_program_that_suspends_with_a_tag_continues_in_other_processes() {
    let (program, saved) = (file("steps.wat", STEPS), output("steps.saved"));
    let first = ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &saved, &program]);
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    assert!(first.stderr.contains(&format!("ropewalk resume {saved}")), "{first:?}");
    // The module is in the file.
    std::fs::remove_file(&program).unwrap();
    for step in ["step 1\n", "step 2\n"] {
        let next = ropewalk(&["resume", &saved]);
        assert_eq!((next.code, &*next.stdout), (Some(0), step), "{next:?}");
        assert!(next.stderr.contains("resume"), "{next:?}");
    }
    ropewalk(&["resume", &saved]).prints("");
}

#[test]
fn a_program_may_continue_after_a_snapshot() {
    let (program, saved) = (file("steps-on.wat", STEPS), output("steps-on.saved"));
    let options = ["--snapshot-on", "checkpoint", "-o", &saved, "--snapshot-and-continue"];
    let all = ropewalk(&[&["run"][..], &options, &[&program]].concat());
    assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
    let again = ropewalk(&["resume", &saved]);
    assert_eq!(
        (again.code, &*again.stdout),
        (Some(0), ""),
        "the last snapshot is at the end: {again:?}"
    );
}

/// Waits for a process; returns its exit code.
fn ended(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program that loops until the first byte of a file is an `x`.
const WAITS: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1) (data (i32.const 100) "stop")
  (func (export "run") (result i32) (local $kept i32)
    (local.set $kept (i32.const 42))
    (if (call $open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 4) (i32.const 0)
          (i64.const 6) (i64.const 0) (i32.const 0) (i32.const 8))
      (then (return (i32.const -1))))
    (i32.store (i32.const 16) (i32.const 200))
    (i32.store (i32.const 20) (i32.const 1))
    (loop $again
      (if (call $seek (i32.load (i32.const 8)) (i64.const 0) (i32.const 0) (i32.const 24))
        (then (return (i32.const -2))))
      (if (call $read (i32.load (i32.const 8)) (i32.const 16) (i32.const 1) (i32.const 24))
        (then (return (i32.const -3))))
      (br_if $again (i32.ne (i32.load8_u (i32.const 200)) (i32.const 120))))
    (local.get $kept)))"#;

/// Starts the program that waits, and returns when it has opened its file. Before that, the
/// signal might end the process.
fn waiting(options: &[&str], program: &str) -> Child {
    let child = command(&[&["run", "--snapshot-on", "SIGUSR1"], options, &[program]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let open = format!("/proc/{}/fd", child.id());
    let is_open = || {
        let entries = std::fs::read_dir(&open).unwrap().flatten();
        entries.filter_map(|it| std::fs::read_link(it.path()).ok()).any(|it| it.ends_with("stop"))
    };
    while !is_open() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the program does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn send_signal(child: &Child) {
    let kill = Command::new("kill").args(["-USR1", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn a_signal_saves_a_running_program_with_its_open_files() {
    let program = file("waits.wat", WAITS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (saved, folder) = (output("waits.saved"), folder.display().to_string());
    let dump = output("waits.core");
    let options = ["-o", &saved, "--dir", &folder, "--coredump", &dump, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    send_signal(&child);
    assert_eq!(ended(&mut child), Some(0));
    let mut note = String::new();
    child.stderr.take().unwrap().read_to_string(&mut note).unwrap();
    assert!(note.starts_with("note: saved the program to"), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    assert!(!Path::new(&dump).exists(), "the program has not failed");
    std::fs::write(Path::new(&folder).join("stop"), "x").unwrap();
    ropewalk(&["resume", &saved]).prints("42\n");
    // Code that a signal can stop can be sampled.
    let profile = output("waits.folded");
    ropewalk(&["resume", "--profile", &profile, &saved]).prints("42\n");
    assert!(Path::new(&profile).exists());
    // The error names a file that does not exist.
    std::fs::remove_file(Path::new(&folder).join("stop")).unwrap();
    ropewalk(&["resume", &saved]).fails(1, &["stop"]);
}

#[test]
fn wrong_options_and_damaged_snapshots_are_errors() {
    let program = file("snapshots-plain.wat", r#"(module (func (export "_start")))"#);
    let saved = output("snapshots-plain.saved");
    let found = ropewalk(&["run", "--snapshot-on", "nothing", "-o", &saved, &program]);
    assert_eq!(found.code, Some(1));
    let says = "or an exported tag. The module exports the tags: none\n";
    assert!(found.stderr.contains(says), "{found:?}");
    let found = ropewalk(&["run", "--snapshot-on", "SIGUSR1", &program]);
    assert_eq!(found.code, Some(1), "{found:?}");
    ropewalk(&["resume", &program]).fails(1, &["is not a snapshot taken by this version"]);

    let (steps, damaged) = (file("steps-damaged.wat", STEPS), output("damaged.saved"));
    ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &damaged, &steps]);
    let mut bytes = std::fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    ropewalk(&["resume", &damaged]).fails(1, &["is damaged"]);
    std::fs::write(&damaged, &bytes[..middle]).unwrap();
    ropewalk(&["resume", &damaged]).fails(1, &["is damaged"]);
}

#[test]
fn reserved_and_uncatchable_signals_are_refused() {
    let program = file("snapshots-signals.wat", r#"(module (func (export "_start")))"#);
    let saved = output("snapshots-signals.saved");
    let run = |signal: &str| ropewalk(&["run", "--snapshot-on", signal, "-o", &saved, &program]);
    for signal in ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"] {
        run(signal).fails(1, &["--snapshot-on", signal, "traps", "such as SIGUSR1"]);
    }
    for signal in ["SIGKILL", "SIGSTOP"] {
        run(signal).fails(1, &["--snapshot-on", "cannot be caught", "such as SIGUSR1"]);
    }
    run("SIGTERM").prints("");
}

#[test]
fn a_tag_may_have_the_name_of_a_signal_without_its_prefix() {
    let (program, saved) =
        (file("stop.wat", STEPS.replace("\"checkpoint\"", "\"stop\"")), output("stop.saved"));
    let run = |when: &str| ropewalk(&["run", "--snapshot-on", when, "-o", &saved, &program]);
    let first = run("stop");
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    // Other spellings of a signal are not accepted, but there is a hint.
    for name in ["usr1", "USR1", "sigusr1"] {
        let says = "expected a signal, such as SIGUSR1, or an exported tag. The module exports the \
                    tags: stop. Did you mean the signal SIGUSR1?\n";
        run(name).fails(1, &[&format!("--snapshot-on {name}: {says}")]);
    }
    run("SIGNAL").fails(1, &["The module exports the tags: stop\n"]);
}

#[test]
fn a_program_continues_if_its_snapshot_cannot_be_written() {
    let program = file("steps-full.wat", STEPS);
    for more in [&[][..], &["--snapshot-and-continue"]] {
        let options = ["run", "--snapshot-on", "checkpoint", "-o", "/dev/full"];
        let all = ropewalk(&[&options[..], more, &[&program]].concat());
        assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
        let says = "warning: no snapshot was taken and the program continues: \
                    cannot write the snapshot /dev/full: No space left";
        assert_eq!(all.stderr.matches(says).count(), 3, "{all:?}");
    }
}

#[test]
fn a_program_continues_if_its_file_was_renamed_before_the_signal() {
    let program = file("renamed.wat", WAITS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("renamed");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (saved, directory) = (output("renamed.saved"), folder.display().to_string());
    let options = ["-o", &saved, "--dir", &directory, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    std::fs::rename(folder.join("stop"), folder.join("other")).unwrap();
    send_signal(&child);
    let mut warning = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut warning).unwrap();
    let says = "warning: no snapshot was taken and the program continues: descriptor 4 cannot be";
    assert!(warning.starts_with(says), "{warning:?}");
    std::fs::write(folder.join("other"), "x").unwrap();
    assert_eq!(ended(&mut child), Some(0));
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "42\n");
    assert!(!Path::new(&saved).exists());
}

/// Sleeps for a minute.
const SLEEP: &str = r#"
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (func $sleep
    (memory.fill (i32.const 1024) (i32.const 0) (i32.const 48))
    (i32.store (i32.const 1040) (i32.const 1))
    (i64.store (i32.const 1048) (i64.const 60_000_000_000))
    (drop (call $poll (i32.const 1024) (i32.const 1100) (i32.const 1) (i32.const 1200))))"#;

#[test]
fn a_timeout_ends_a_waiting_program_after_it_was_resumed() {
    let naps = format!(
        r#"(module {SLEEP} (memory (export "memory") 1) (tag $t (export "t"))
             (func (export "_start") (suspend $t) (call $sleep)))"#
    );
    let (program, saved) = (file("naps.wat", naps), output("naps.saved"));
    let run = ["run", "--timeout", "1s", "--snapshot-on", "t", "-o", &saved];
    let first = ropewalk(&[&run[..], &[&program]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    let begun = Instant::now();
    let says = ["the program did not end within 1s", "!sleep"];
    ropewalk(&["resume", &saved]).fails(134, &says);
    ropewalk(&[&run[..], &["--snapshot-and-continue", &program]].concat()).fails(134, &says);
    assert!(begun.elapsed() < Duration::from_secs(40), "the timeout did not end the wait");
}

#[test]
fn a_timeout_ends_a_program_that_a_signal_saved() {
    // It waits for the file, then sleeps.
    let sleeps = WAITS
        .replace("(memory (export", &format!("{SLEEP} (memory (export"))
        .replace("(local.get $kept)))", "(call $sleep) (local.get $kept)))");
    let sleeps = {
        // Imports come first.
        let import = SLEEP.lines().nth(1).unwrap();
        sleeps.replace(import, "").replacen("(module", &format!("(module {import}"), 1)
    };
    let program = file("sleeps.wat", sleeps);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sleeps");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (saved, directory) = (output("sleeps.saved"), folder.display().to_string());
    let options = ["--timeout", "5s", "-o", &saved, "--dir", &directory, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    send_signal(&child);
    assert_eq!(ended(&mut child), Some(0));
    std::fs::write(folder.join("stop"), "x").unwrap();
    let begun = Instant::now();
    let says = ["the program did not end within 5s", "!sleep"];
    ropewalk(&["resume", &saved]).fails(134, &says);
    assert!(begun.elapsed() < Duration::from_secs(40), "the timeout did not end the wait");
}

#[test]
fn resuming_keeps_the_outputs_of_the_run() {
    let (program, saved) = (file("halves.wat", STEPS), output("halves.saved"));
    let (first, second) = (output("halves-1.rwtrace"), output("halves-2.rwtrace"));
    let profile = output("halves.folded");
    let run = ["run", "--trace", &first, "--profile", &profile, "--snapshot-on", "checkpoint"];
    assert_eq!(ropewalk(&[&run[..], &["-o", &saved, &program]].concat()).code, Some(0));
    let before = std::fs::read(&first).unwrap();
    std::fs::remove_file(&profile).unwrap();
    for trace in [&[][..], &["--trace", &second]] {
        let next = ropewalk(&[&["resume"], trace, &[&saved]].concat());
        assert_eq!(next.code, Some(0), "{next:?}");
        assert!(std::fs::read(&first).unwrap() == before, "{trace:?}");
        assert!(!Path::new(&profile).exists(), "{trace:?}");
    }
    let events =
        |path: &str| Trace::read(&std::fs::read(path).unwrap()).unwrap().trace.events.len();
    assert!(events(&first) > 0 && events(&second) > 0);

    // Code that was not compiled for tracing or sampling cannot be traced or sampled.
    let run = ["run", "--snapshot-on", "checkpoint", "-o", &saved, &program];
    assert_eq!(ropewalk(&run).code, Some(0));
    let says = ["cannot be traced, since `run` was called without --trace"];
    ropewalk(&["resume", "--trace", &second, &saved]).fails(1, &says);
    let says = ["cannot be sampled, since `run` was called without --profile"];
    ropewalk(&["resume", "--profile", &second, &saved]).fails(1, &says);
    ropewalk(&["resume", "--trace", &saved, &saved]).fails(1, &["--trace"]);
}

#[test]
fn the_next_snapshot_replaces_the_first_unless_another_file_is_given() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("another");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let program = file("another.wat", STEPS);
    // The path is relative to the directory of `run`.
    let run = ["run", "--snapshot-on", "checkpoint", "-o", "first", &program];
    let run = outcome(command(&run).current_dir(&folder).output().unwrap());
    assert_eq!((run.code, &*run.stdout), (Some(0), "step 0\n"), "{run:?}");
    let at = |name: &str| folder.join(name).into_os_string().into_string().unwrap();
    let next = ropewalk(&["resume", "-o", &at("second"), &at("first")]);
    assert_eq!((next.code, &*next.stdout), (Some(0), "step 1\n"), "{next:?}");
    for (step, from) in [("step 2\n", "second"), ("", "first")] {
        let next = ropewalk(&["resume", &at(from)]);
        assert_eq!((next.code, &*next.stdout), (Some(0), step), "{next:?}");
    }
}

#[test]
fn a_recording_ends_at_the_snapshot() {
    let (program, saved) = (file("recorded-steps.wat", STEPS), output("recorded-steps.saved"));
    let tape = output("recorded-steps.tape");
    let run = ["run", "--record", &tape, "--snapshot-on", "checkpoint", "-o", &saved];
    let first = ropewalk(&[&run[..], &[&program]].concat());
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    let again = ropewalk(&["replay", &tape]);
    assert_eq!((again.code, &*again.stdout), (Some(0), "step 0\n"), "{again:?}");
    assert!(
        again.stderr.contains("note: the recorded run took a snapshot here and ended"),
        "{again:?}"
    );
    // The resumed program is not recorded, with a warning.
    let before = std::fs::read(&tape).unwrap();
    let next = ropewalk(&["resume", &saved]);
    assert_eq!((next.code, &*next.stdout), (Some(0), "step 1\n"), "{next:?}");
    let says = "warning: --record is ignored, since";
    assert!(next.stderr.contains(says), "{next:?}");
    assert!(std::fs::read(&tape).unwrap() == before);
}

#[test]
fn a_recorded_program_that_continued_is_replayed_to_its_end() {
    let program = file("recorded-on.wat", STEPS);
    let (saved, tape) = (output("recorded-on.saved"), output("recorded-on.tape"));
    for options in [
        &["-o", &saved, "--snapshot-and-continue"][..],
        // The snapshot cannot be written.
        &["-o", "/dev/full"],
    ] {
        let run = ["run", "--record", &tape, "--snapshot-on", "checkpoint"];
        let all = ropewalk(&[&run[..], options, &[&program]].concat());
        assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
        let _ = std::fs::remove_file(&saved);
        let again = ropewalk(&["replay", &tape]);
        assert_eq!((again.code, &*again.stdout), (Some(0), &*all.stdout), "{again:?}");
        assert!(!Path::new(&saved).exists(), "nothing is written again");
    }
}

#[test]
fn a_compiled_program_is_resumed() {
    let (program, saved) = (file("compiled-steps.wat", STEPS), output("compiled-steps.saved"));
    ropewalk(&["compile", &program]).prints("");
    let program = program.replace(".wat", ".cwasm");
    let first = ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &saved, &program]);
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    let next = ropewalk(&["resume", &saved]);
    assert_eq!((next.code, &*next.stdout), (Some(0), "step 1\n"), "{next:?}");
}

#[test]
fn a_module_from_a_pipe_cannot_be_saved() {
    let saved = output("pipe.saved");
    for input in ["-", "/dev/stdin"] {
        let mut child = command(&["run", "--snapshot-on", "checkpoint", "-o", &saved, input]);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        // The command may exit before it reads anything.
        let _ = child.stdin.take().unwrap().write_all(STEPS.as_bytes());
        let found = outcome(child.wait_with_output().unwrap());
        found.fails(1, &["a module from the standard input or a pipe", "save it to a file"]);
    }
}
