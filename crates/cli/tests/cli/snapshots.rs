//! Programs that are written down while they run, and resumed by another process.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::process::{command, file, ropewalk};

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

#[test]
fn a_running_program_is_written_down_by_a_signal_with_its_open_files() {
    let program = file("waits.wat", WAITS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stop"), "-").unwrap();
    let (asleep, folder) = (output("waits.asleep"), folder.display().to_string());
    let arguments = ["run", "--snapshot-on", "USR1", "-o", &asleep, "--dir", &folder];
    let mut child = command(&[&arguments[..], &["--invoke", "run", &program]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until the process has begun, the signal would end it.
    std::thread::sleep(Duration::from_millis(700));
    let kill = std::process::Command::new("kill").args(["-USR1", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(ended(&mut child), Some(0));
    std::fs::write(Path::new(&folder).join("stop"), "x").unwrap();
    let rest = ropewalk(&["resume", &asleep]);
    assert_eq!((rest.code, &*rest.stdout, &*rest.stderr), (Some(0), "42\n", ""));
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
    assert!(found.stderr.contains("exports no such tag"), "{found:?}");
    let found = ropewalk(&["run", "--snapshot-on", "USR1", &program]);
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
