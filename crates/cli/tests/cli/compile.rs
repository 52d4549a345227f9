//! `ropewalk compile`, and what `ropewalk run` keeps.

use crate::process::{command, file, outcome, ropewalk};
use std::fs;
use std::path::Path;

const TWO: &str = "(func (export \"two\") (result i32)\n  i32.const 2)";

#[test]
fn a_compiled_module_runs_as_the_module_does() {
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
    // In the head, in the settings, and in the code, which begins at the second page.
    for (at, message) in [
        (40, "it is damaged: the checksum of its head is another"),
        (600, "it is damaged: its checksum is not that of its bytes"),
        (4096, "it is damaged: its code is not what was written"),
    ] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&output, &damaged).unwrap();
        run().fails(1, &[message]);
    }
    fs::write(&output, &bytes[..bytes.len() - 1]).unwrap();
    run().fails(1, &["it is damaged: its length is not what its head says"]);
}

#[test]
fn the_standard_input_needs_a_place_for_what_is_compiled() {
    ropewalk(&["compile", "-"]).fails(1, &["say with -o where to write it"]);
}

#[test]
fn a_program_is_compiled_once() {
    let module = file("cached.wat", TWO);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cached");
    let _ = fs::remove_dir_all(&folder);
    let kept = || fs::read_dir(folder.join("ropewalk")).map_or(0, Iterator::count);
    let run = |options: &[&str]| {
        let arguments = [&["run", "--invoke", "two"], options, &[&module]].concat();
        let output = command(&arguments).env("XDG_CACHE_HOME", &folder).output();
        outcome(output.expect("the command starts")).prints("2\n");
    };
    run(&["--no-cache"]);
    assert_eq!(kept(), 0);
    for _ in 0..2 {
        run(&[]);
        assert_eq!(kept(), 1);
    }
}
