//! Programs that are written down while they run, and resumed by another process.

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
  (memory (export "memory") 1)
  (data (i32.const 100) "step 0\n")
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
fn a_program_that_suspends_with_a_tag_goes_on_in_other_processes() {
    let (program, asleep) = (file("steps.wat", STEPS), output("steps.asleep"));
    let first = ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &asleep, &program]);
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    assert!(first.stderr.contains(&format!("ropewalk resume {asleep}")), "{first:?}");
    // The module is in the file.
    std::fs::remove_file(&program).unwrap();
    for step in ["step 1\n", "step 2\n"] {
        let next = ropewalk(&["resume", &asleep]);
        assert_eq!((next.code, &*next.stdout), (Some(0), step), "{next:?}");
        assert!(next.stderr.contains("resume"), "{next:?}");
    }
    let last = ropewalk(&["resume", &asleep]);
    assert_eq!((last.code, &*last.stdout, &*last.stderr), (Some(0), "", ""));
}

#[test]
fn a_program_may_go_on_after_it_was_written_down() {
    let (program, asleep) = (file("steps-on.wat", STEPS), output("steps-on.asleep"));
    let options = ["--snapshot-on", "checkpoint", "-o", &asleep, "--snapshot-and-go-on"];
    let all = ropewalk(&[&["run"][..], &options, &[&program]].concat());
    assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
    let again = ropewalk(&["resume", &asleep]);
    assert_eq!((again.code, &*again.stdout), (Some(0), ""), "it was at its end: {again:?}");
}

/// Waits until a process has ended, or fails.
fn ended(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program that counts until the first byte of a file is an `x`, and then prints how often it
/// was not told to stop before: once at least.
const WAITS: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "stop")
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

/// Runs the program that waits, until it has opened its file: until the process has begun, the
/// signal would end it.
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
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn send_signal(child: &Child) {
    let kill = Command::new("kill").args(["-USR1", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn a_running_program_is_written_down_by_a_signal_with_its_open_files() {
    let program = file("waits.wat", WAITS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (asleep, folder) = (output("waits.asleep"), folder.display().to_string());
    let dump = output("waits.core");
    let options = ["-o", &asleep, "--dir", &folder, "--coredump", &dump, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    send_signal(&child);
    assert_eq!(ended(&mut child), Some(0));
    let mut note = String::new();
    child.stderr.take().unwrap().read_to_string(&mut note).unwrap();
    assert!(note.starts_with("note: the program was written to"), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    assert!(!Path::new(&dump).exists(), "the program has not failed");
    std::fs::write(Path::new(&folder).join("stop"), "x").unwrap();
    let rest = ropewalk(&["resume", &asleep]);
    assert_eq!((rest.code, &*rest.stdout, &*rest.stderr), (Some(0), "42\n", ""));
    // What a signal can stop can be sampled.
    let profile = output("waits.folded");
    ropewalk(&["resume", "--profile", &profile, &asleep]).prints("42\n");
    assert!(Path::new(&profile).exists());
    // A file that is gone is said.
    std::fs::remove_file(Path::new(&folder).join("stop")).unwrap();
    let rest = ropewalk(&["resume", &asleep]);
    assert_eq!(rest.code, Some(1));
    assert!(rest.stderr.contains("stop"), "{rest:?}");
}

#[test]
fn what_cannot_be_is_said() {
    let program = file("snapshots-plain.wat", r#"(module (func (export "_start")))"#);
    let asleep = output("snapshots-plain.asleep");
    let found = ropewalk(&["run", "--snapshot-on", "nothing", "-o", &asleep, &program]);
    assert_eq!(found.code, Some(1));
    let says = "no such tag. The tags that it exports: none\n";
    assert!(found.stderr.contains(says), "{found:?}");
    let found = ropewalk(&["run", "--snapshot-on", "SIGUSR1", &program]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let found = ropewalk(&["resume", &program]);
    assert!(found.stderr.contains("is no program that"), "{found:?}");

    let (steps, damaged) = (file("steps-damaged.wat", STEPS), output("damaged.asleep"));
    ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &damaged, &steps]);
    let mut bytes = std::fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    let found = ropewalk(&["resume", &damaged]);
    assert!(found.stderr.contains("is damaged"), "{found:?}");
    std::fs::write(&damaged, &bytes[..middle]).unwrap();
    let found = ropewalk(&["resume", &damaged]);
    assert!(found.stderr.contains("is damaged"), "{found:?}");
}

#[test]
fn signals_that_are_the_engine_s_or_nobody_s_are_refused() {
    let program = file("snapshots-signals.wat", r#"(module (func (export "_start")))"#);
    let asleep = output("snapshots-signals.asleep");
    let run = |signal: &str| ropewalk(&["run", "--snapshot-on", signal, "-o", &asleep, &program]);
    for signal in ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"] {
        run(signal).fails(1, &["--snapshot-on", signal, "traps", "such as SIGUSR1"]);
    }
    for signal in ["SIGKILL", "SIGSTOP"] {
        run(signal).fails(1, &["--snapshot-on", "no process can wait for", "such as SIGUSR1"]);
    }
    run("SIGTERM").prints("");
}

#[test]
fn a_tag_may_be_called_as_a_signal_is_without_its_beginning() {
    let (program, asleep) =
        (file("stop.wat", STEPS.replace("\"checkpoint\"", "\"stop\"")), output("stop.asleep"));
    let run = |when: &str| ropewalk(&["run", "--snapshot-on", when, "-o", &asleep, &program]);
    let first = run("stop");
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    // A signal is not meant by its other spellings, but hinted at.
    for name in ["usr1", "USR1", "sigusr1"] {
        let says = "it is no signal, such as SIGUSR1, and the module exports no such tag. \
                    The tags that it exports: stop; the signal is SIGUSR1\n";
        run(name).fails(1, &[&format!("--snapshot-on {name}: {says}")]);
    }
    run("SIGNAL").fails(1, &["The tags that it exports: stop\n"]);
}

#[test]
fn a_program_that_cannot_be_written_down_goes_on() {
    let program = file("steps-full.wat", STEPS);
    for more in [&[][..], &["--snapshot-and-go-on"]] {
        let options = ["run", "--snapshot-on", "checkpoint", "-o", "/dev/full"];
        let all = ropewalk(&[&options[..], more, &[&program]].concat());
        assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
        let says = "warning: the program was not written down, and goes on: \
                    cannot write the snapshot /dev/full: No space left";
        assert_eq!(all.stderr.matches(says).count(), 3, "{all:?}");
    }
}

#[test]
fn a_program_whose_file_was_renamed_goes_on_when_the_signal_comes() {
    let program = file("renamed.wat", WAITS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("renamed");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (asleep, directory) = (output("renamed.asleep"), folder.display().to_string());
    let options = ["-o", &asleep, "--dir", &directory, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    std::fs::rename(folder.join("stop"), folder.join("other")).unwrap();
    send_signal(&child);
    let mut warning = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut warning).unwrap();
    let says = "warning: the program was not written down, and goes on: descriptor 4 cannot be";
    assert!(warning.starts_with(says), "{warning:?}");
    std::fs::write(folder.join("other"), "x").unwrap();
    assert_eq!(ended(&mut child), Some(0));
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "42\n");
    assert!(!Path::new(&asleep).exists());
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
fn a_program_that_waits_is_ended_in_time_also_after_it_was_resumed() {
    let naps = format!(
        r#"(module {SLEEP} (memory (export "memory") 1) (tag $t (export "t"))
             (func (export "_start") (suspend $t) (call $sleep)))"#
    );
    let (program, asleep) = (file("naps.wat", naps), output("naps.asleep"));
    let run = ["run", "--timeout", "1s", "--snapshot-on", "t", "-o", &asleep];
    let first = ropewalk(&[&run[..], &[&program]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    let begun = Instant::now();
    let says = ["the program did not end within 1s", "!sleep"];
    ropewalk(&["resume", &asleep]).fails(134, &says);
    ropewalk(&[&run[..], &["--snapshot-and-go-on", &program]].concat()).fails(134, &says);
    assert!(begun.elapsed() < Duration::from_secs(40), "it was waited for");
}

#[test]
fn a_program_that_a_signal_has_written_down_is_ended_in_time_too() {
    // It waits for the file first, and sleeps then.
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
    let (asleep, directory) = (output("sleeps.asleep"), folder.display().to_string());
    let options = ["--timeout", "5s", "-o", &asleep, "--dir", &directory, "--invoke", "run"];
    let mut child = waiting(&options, &program);
    send_signal(&child);
    assert_eq!(ended(&mut child), Some(0));
    std::fs::write(folder.join("stop"), "x").unwrap();
    let begun = Instant::now();
    let says = ["the program did not end within 5s", "!sleep"];
    ropewalk(&["resume", &asleep]).fails(134, &says);
    assert!(begun.elapsed() < Duration::from_secs(40), "it was waited for");
}

#[test]
fn what_a_run_has_written_stays_when_it_is_resumed() {
    let (program, asleep) = (file("halves.wat", STEPS), output("halves.asleep"));
    let (first, second) = (output("halves-1.rwtrace"), output("halves-2.rwtrace"));
    let profile = output("halves.folded");
    let run = ["run", "--trace", &first, "--profile", &profile, "--snapshot-on", "checkpoint"];
    assert_eq!(ropewalk(&[&run[..], &["-o", &asleep, &program]].concat()).code, Some(0));
    let before = std::fs::read(&first).unwrap();
    std::fs::remove_file(&profile).unwrap();
    for trace in [&[][..], &["--trace", &second]] {
        let next = ropewalk(&[&["resume"], trace, &[&asleep]].concat());
        assert_eq!(next.code, Some(0), "{next:?}");
        assert!(std::fs::read(&first).unwrap() == before, "{trace:?}");
        assert!(!Path::new(&profile).exists(), "{trace:?}");
    }
    let events =
        |path: &str| Trace::read(&std::fs::read(path).unwrap()).unwrap().trace.events.len();
    assert!(events(&first) > 0 && events(&second) > 0);

    // What was not compiled for it cannot be traced or sampled.
    let run = ["run", "--snapshot-on", "checkpoint", "-o", &asleep, &program];
    assert_eq!(ropewalk(&run).code, Some(0));
    let says = ["cannot be traced, since it was run without --trace"];
    ropewalk(&["resume", "--trace", &second, &asleep]).fails(1, &says);
    let says = ["cannot be sampled, since it was run without --profile"];
    ropewalk(&["resume", "--profile", &second, &asleep]).fails(1, &says);
    ropewalk(&["resume", "--trace", &asleep, &asleep]).fails(1, &["--trace"]);
}

#[test]
fn a_resumed_program_is_written_to_the_file_of_the_run_or_to_another() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("another");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let program = file("another.wat", STEPS);
    // The path is one of the directory that the program was run in.
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
fn a_recording_ends_where_the_program_was_written_down() {
    let (program, asleep) = (file("recorded-steps.wat", STEPS), output("recorded-steps.asleep"));
    let tape = output("recorded-steps.tape");
    let run = ["run", "--record", &tape, "--snapshot-on", "checkpoint", "-o", &asleep];
    let first = ropewalk(&[&run[..], &[&program]].concat());
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    let again = ropewalk(&["replay", &tape]);
    assert_eq!((again.code, &*again.stdout), (Some(0), "step 0\n"), "{again:?}");
    assert!(again.stderr.contains("note: when it was recorded, the program was"), "{again:?}");
    // The rest is not recorded, which is said.
    let before = std::fs::read(&tape).unwrap();
    let next = ropewalk(&["resume", &asleep]);
    assert_eq!((next.code, &*next.stdout), (Some(0), "step 1\n"), "{next:?}");
    let says = "warning: what the program gets from now on is not recorded";
    assert!(next.stderr.contains(says), "{next:?}");
    assert!(std::fs::read(&tape).unwrap() == before);
}

#[test]
fn a_recorded_program_that_went_on_is_replayed_to_its_end() {
    let program = file("recorded-on.wat", STEPS);
    let (asleep, tape) = (output("recorded-on.asleep"), output("recorded-on.tape"));
    for options in [
        &["-o", &asleep, "--snapshot-and-go-on"][..],
        // It could not be written down.
        &["-o", "/dev/full"],
    ] {
        let run = ["run", "--record", &tape, "--snapshot-on", "checkpoint"];
        let all = ropewalk(&[&run[..], options, &[&program]].concat());
        assert_eq!((all.code, &*all.stdout), (Some(0), "step 0\nstep 1\nstep 2\n"), "{all:?}");
        let _ = std::fs::remove_file(&asleep);
        let again = ropewalk(&["replay", &tape]);
        assert_eq!((again.code, &*again.stdout), (Some(0), &*all.stdout), "{again:?}");
        assert!(!Path::new(&asleep).exists(), "nothing is written again");
    }
}

#[test]
fn a_compiled_program_is_resumed() {
    let (program, asleep) = (file("compiled-steps.wat", STEPS), output("compiled-steps.asleep"));
    ropewalk(&["compile", &program]).prints("");
    let program = program.replace(".wat", ".cwasm");
    let first = ropewalk(&["run", "--snapshot-on", "checkpoint", "-o", &asleep, &program]);
    assert_eq!((first.code, &*first.stdout), (Some(0), "step 0\n"), "{first:?}");
    let next = ropewalk(&["resume", &asleep]);
    assert_eq!((next.code, &*next.stdout), (Some(0), "step 1\n"), "{next:?}");
}

#[test]
fn a_module_that_comes_through_a_pipe_cannot_be_written_down() {
    let asleep = output("pipe.asleep");
    for input in ["-", "/dev/stdin"] {
        let mut child = command(&["run", "--snapshot-on", "checkpoint", "-o", &asleep, input]);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        // It may end before it has read anything.
        let _ = child.stdin.take().unwrap().write_all(STEPS.as_bytes());
        let found = outcome(child.wait_with_output().unwrap());
        found.fails(1, &["comes through a pipe", "put it into a file"]);
    }
}
