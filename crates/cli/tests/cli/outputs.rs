//! Output files: files in use, links, pipes, and outputs that are also inputs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::process::{absent, command, file, outcome, ropewalk};

const TWO: &str = "(func (export \"two\") (result i32) (i32.const 2))";

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Prints a line, waits for the end of its standard input, then calls a function that has not run
/// before.
const LATE: &str = r#"(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1) (data (i32.const 64) "ready\n")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.const 6))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $exit (call $late (i32.const 21))))
  (func $late (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2))))"#;

#[test]
fn a_running_compiled_module_is_replaced_and_not_changed() {
    let (late, two) = (file("outputs-late.wat", LATE), file("outputs-two.wat", TWO));
    let compiled = absent("outputs-late.cwasm");
    ropewalk(&["compile", &late, "-o", &compiled]).prints("");
    let mut running = command(&["run", &compiled])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    ropewalk(&["compile", &two, "-o", &compiled]).prints("");
    drop(running.stdin.take());
    let ended = outcome(running.wait_with_output().unwrap());
    assert_eq!((ended.code, &*ended.stderr), (Some(42), ""), "{ended:?}");
    ropewalk(&["run", "--invoke", "two", &compiled]).prints("2\n");
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = folder("outputs-itself");
    let text = r#"(func (export "_start"))"#;
    let module = folder.join("module.wat");
    fs::write(&module, text).unwrap();
    symlink("module.wat", folder.join("link.wat")).unwrap();
    fs::hard_link(&module, folder.join("same.wat")).unwrap();
    let refused = |arguments: &[&str]| {
        let outcome = outcome(command(arguments).current_dir(&folder).output().unwrap());
        outcome.fails(1, &["would overwrite the input", "choose another file"]);
        assert_eq!(fs::read_to_string(&module).unwrap(), text, "{arguments:?}");
    };
    for output in ["module.wat", "./module.wat", "link.wat", "same.wat"] {
        refused(&["compile", "module.wat", "-o", output]);
        refused(&["lower", "module.wat", "-o", output]);
        for option in ["--record", "--trace", "--profile", "--coredump", "--stacks"] {
            refused(&["run", option, output, "module.wat"]);
        }
        refused(&["run", "--snapshot-on", "SIGUSR1", "-o", output, "module.wat"]);
    }
    fs::write(folder.join("program.wat"), text).unwrap();
    refused(&["run", "--trace", "module.wat", "--preload", "m=module.wat", "program.wat"]);
    // The default output of a compiled module is the module itself.
    ropewalk(&["compile", folder.join("program.wat").to_str().unwrap()]).prints("");
    refused(&["compile", "program.cwasm"]);
    // A recording is an input, too.
    let run = ["run", "--record", "tape", "program.wat"];
    outcome(command(&run).current_dir(&folder).output().unwrap()).prints("");
    refused(&["replay", "--trace", "tape", "tape"]);
}

#[test]
fn outputs_must_be_different_files() {
    let folder = folder("outputs-two");
    let module = file("outputs-both.wat", "(func (export \"_start\"))");
    symlink("trace", folder.join("link")).unwrap();
    for other in ["trace", "./trace", "link"] {
        let run = ["run", "--record", other, "--trace", "trace", &module];
        let outcome = outcome(command(&run).current_dir(&folder).output().unwrap());
        outcome.fails(1, &["the recording and the trace cannot both be written to"]);
    }
    assert_eq!(names(&folder), ["link"]);
}

#[test]
fn links_are_followed_and_permissions_are_kept() {
    let folder = folder("outputs-links");
    let module = file("outputs-link.wat", TWO);
    let at = |name: &str| folder.join(name).into_os_string().into_string().unwrap();
    fs::write(at("target"), "before").unwrap();
    fs::set_permissions(at("target"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("target", at("link")).unwrap();
    symlink("absent", at("dangling")).unwrap();
    for (link, target) in [("link", "target"), ("dangling", "absent")] {
        ropewalk(&["compile", &module, "-o", &at(link)]).prints("");
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        ropewalk(&["run", "--invoke", "two", &at(target)]).prints("2\n");
    }
    assert_eq!(fs::metadata(at("target")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(
        names(&folder),
        ["absent", "dangling", "link", "target"],
        "no temporary file remains"
    );
}

/// Runs the command with bytes as its standard input.
fn with_bytes(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_dash_and_dev_stdout_are_the_standard_output() {
    let folder = folder("outputs-dash");
    let module = file("outputs-dash.wat", TWO);
    let mut compiled = Vec::new();
    for output in ["-", "/dev/stdout", "/dev/fd/1"] {
        let run = command(&["compile", &module, "-o", output]).current_dir(&folder).output();
        compiled = run.unwrap().stdout;
        let ran = outcome(with_bytes(&["run", "--invoke", "two", "-"], &compiled));
        ran.prints("2\n");
    }
    // The module is compiled again if options need other code.
    let run = ["run", "--timeout", "60", "--invoke", "two", "-"];
    outcome(with_bytes(&run, &compiled)).prints("2\n");
    let lower = command(&["lower", &module, "-o", "-"]).current_dir(&folder).output().unwrap();
    outcome(lower).prints(&format!("{TWO}\n"));
    assert_eq!(names(&folder), [""; 0]);
    // A file that the standard output goes to is not replaced.
    let path = folder.join("redirected");
    for output in ["-", "/dev/stdout", "/dev/fd/1"] {
        let redirected = fs::File::create(&path).unwrap();
        let inode = redirected.metadata().unwrap().ino();
        let status = command(&["compile", &module, "-o", output]).stdout(redirected).status();
        assert!(status.unwrap().success());
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(fs::read(&path).unwrap(), compiled);
    }
}

#[test]
fn unwritable_outputs_are_errors_before_the_program_runs() {
    let module = r#"(func (export "run") (result i32) (i32.const 7))"#;
    let module = file("outputs-nowhere.wat", module);
    for (option, what) in [
        ("--record", "the recording"),
        ("--trace", "the trace"),
        ("--profile", "the profile"),
        ("--coredump", "the core dump"),
        ("--stacks", "the stacks"),
    ] {
        for (path, reason) in [("/nowhere/x", "No such file"), ("/tmp", "directory")] {
            let says = format!("cannot write {what} {path}");
            ropewalk(&["run", "--invoke", "run", option, path, &module]).fails(1, &[&says, reason]);
        }
    }
    let snapshot = ["run", "--snapshot-on", "SIGUSR1", "-o", "/nowhere/x", "--invoke", "run"];
    let says = ["cannot write the snapshot /nowhere/x"];
    ropewalk(&[&snapshot[..], &[&module]].concat()).fails(1, &says);
}

#[test]
fn failures_to_write_outputs_keep_the_exit_code_of_a_trap() {
    let module = r#"(module
        (func (export "fail") (unreachable))
        (func (export "run") (result i32) (i32.const 7)))"#;
    let module = file("outputs-full.wat", module);
    let options = ["--coredump", "/dev/full", "--stacks", "/dev/full", "--trace", "/dev/full"];
    let run =
        |name: &str| ropewalk(&[&["run"], &options[..], &["--invoke", name, &module]].concat());
    let says = [
        "wasm trap: unreachable",
        "cannot write the core dump /dev/full: No space left",
        "cannot write the stacks /dev/full: No space left",
        "cannot write the trace /dev/full: No space left",
    ];
    run("fail").fails(134, &says);
    // Results are printed, but the exit code reports an error.
    let outcome = run("run");
    assert_eq!((outcome.code, &*outcome.stdout), (Some(1), "7\n"), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write the trace /dev/full"), "{outcome:?}");
}
