//! `ropewalk compile`, and the cache of `ropewalk run`.

use crate::process::{absent, command, file, outcome, ropewalk};
use std::fs;
use std::path::Path;

const TWO: &str = "(func (export \"two\") (result i32)\n  i32.const 2)";

#[test]
fn a_compiled_module_runs() {
    let module = file("compiled.wat", TWO);
    ropewalk(&["compile", &module]).prints("");
    let compiled = module.replace(".wat", ".cwasm");
    ropewalk(&["run", "--invoke", "two", &compiled]).prints("2\n");
}

#[test]
fn a_trap_in_a_compiled_module_shows_the_line_of_the_text() {
    let module = file("compiled-trap.wat", "(func (export \"f\")\n  unreachable)");
    let output = file("compiled-trap.out", "");
    ropewalk(&["compile", &module, "-o", &output]).prints("");
    let outcome = ropewalk(&["run", "--invoke", "f", &output]);
    outcome.fails(134, &["compiled-trap.wat:2:3: <module>!f"]);
}

#[test]
fn a_damaged_file_is_refused() {
    let module = file("damaged.wat", TWO);
    let output = file("damaged.cwasm", "");
    ropewalk(&["compile", &module, "-o", &output]).prints("");
    let bytes = fs::read(&output).unwrap();
    let run = || ropewalk(&["run", "--invoke", "two", &output]);
    // In the header, in the settings, and in the code, which begins at the second page.
    for (at, message) in [
        (40, "it is damaged: the checksum of its header does not match"),
        (600, "it is damaged: a checksum does not match its contents"),
        (4096, "it is damaged: the checksum of its code does not match"),
    ] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&output, &damaged).unwrap();
        run().fails(1, &[message]);
    }
    fs::write(&output, &bytes[..bytes.len() - 1]).unwrap();
    run().fails(1, &["it is damaged: its length does not match its header"]);
}

#[test]
fn compiling_the_standard_input_needs_an_output() {
    ropewalk(&["compile", "-"])
        .fails(1, &["reading from standard input: use -o to name the output"]);
}

#[test]
fn a_program_is_compiled_once() {
    let module = file("cached.wat", TWO);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cached");
    let _ = fs::remove_dir_all(&folder);
    let cached = || fs::read_dir(folder.join("ropewalk")).map_or(0, Iterator::count);
    let run = |options: &[&str]| {
        let arguments = [&["run", "--invoke", "two"], options, &[&module]].concat();
        let output = command(&arguments).env("XDG_CACHE_HOME", &folder).output();
        outcome(output.expect("the command starts")).prints("2\n");
    };
    run(&["--no-cache"]);
    assert_eq!(cached(), 0);
    for _ in 0..2 {
        run(&[]);
        assert_eq!(cached(), 1);
    }
}

/// A generator, so that something is traced.
const SWITCHES: &str = r#"(module $m
  (type $f (func)) (type $c (cont $f)) (tag $yield (export "yield"))
  (func $body (suspend $yield))
  (elem declare func $body)
  (func (export "run") (result i32)
    (block $on (result (ref $c))
      (resume $c (on $yield $on) (cont.new $c (ref.func $body)))
      (return (i32.const 1)))
    (drop) (i32.const 2))
  (func (export "fail") (unreachable)))"#;

#[test]
fn a_compiled_module_runs_with_every_option() {
    let module = file("compiled-options.wat", SWITCHES);
    ropewalk(&["compile", &module]).prints("");
    let compiled = module.replace(".wat", ".cwasm");
    let (trace, other) = (absent("compiled-options.rwtrace"), absent("compiled-options.2"));
    let tape = absent("compiled-options.tape");
    for options in [
        &["--timeout", "60"][..],
        &["--fuel", "1000000"],
        &["--trace", &trace],
        &["--profile", &other],
        &["--snapshot-on", "SIGUSR1", "-o", &other],
        &["--snapshot-on", "yield", "-o", &other],
        &["--record", &tape],
    ] {
        ropewalk(&[&["run"], options, &["--invoke", "run", &compiled]].concat()).prints("2\n");
    }
    assert!(fs::metadata(&trace).unwrap().len() > 0);
    ropewalk(&["replay", "--trace", &trace, &tape]).prints("2\n");
    let at = ropewalk(&["replay", "--at", "2", &tape]);
    assert!(at.stdout.starts_with("after event 2: "), "{at:?}");
    // Source positions are known.
    let outcome = ropewalk(&["run", "--timeout", "60", "--invoke", "fail", &compiled]);
    outcome.fails(134, &["compiled-options.wat:10:26: m!fail"]);
}

#[test]
fn a_compiled_module_is_recompiled_only_once() {
    let module = file("recompiled.wat", TWO);
    ropewalk(&["compile", &module]).prints("");
    let compiled = module.replace(".wat", ".cwasm");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recompiled");
    let _ = fs::remove_dir_all(&folder);
    let cached = || fs::read_dir(folder.join("ropewalk")).map_or(0, Iterator::count);
    for (options, count) in [(&[][..], 0), (&["--fuel", "100"], 1), (&["--fuel", "100"], 1)] {
        let arguments = [&["run", "--invoke", "two"], options, &[&compiled]].concat();
        let output = command(&arguments).env("XDG_CACHE_HOME", &folder).output();
        outcome(output.expect("the command starts")).prints("2\n");
        assert_eq!(cached(), count, "{options:?}");
    }
}

#[test]
fn validate_and_lower_refuse_compiled_modules() {
    let module = file("compiled-already.wat", TWO);
    ropewalk(&["compile", &module]).prints("");
    let compiled = module.replace(".wat", ".cwasm");
    let says = ["compiled-already.cwasm is already compiled", "ropewalk run", "compiled from"];
    ropewalk(&["validate", &compiled]).fails(1, &says);
    ropewalk(&["lower", &compiled]).fails(1, &says);
}

#[test]
fn processes_share_the_cache() {
    let functions: String =
        (0..200).map(|n| format!("(func (result i32) i32.const {n})")).collect();
    let module = file("shared.wat", format!("(module {functions} {TWO})"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared");
    let _ = fs::remove_dir_all(&folder);
    for _ in 0..3 {
        let run = |_| {
            let mut run = command(&["run", "--invoke", "two", &module]);
            let run = run.env("XDG_CACHE_HOME", &folder);
            run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()
        };
        let running: Vec<_> = (0..8).map(run).collect();
        for child in running {
            outcome(child.unwrap().wait_with_output().unwrap()).prints("2\n");
        }
        let cached = fs::read_dir(folder.join("ropewalk")).unwrap();
        let cached: Vec<_> = cached.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(cached.len(), 1, "{cached:?}");
        assert_eq!(cached[0].extension().unwrap(), "cwasm");
        // The process that finds a damaged file replaces it.
        fs::write(&cached[0], "damaged").unwrap();
    }
}
