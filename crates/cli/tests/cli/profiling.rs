//! `ropewalk run --profile`: folded stacks, and JSON for the Firefox Profiler.

use crate::process::{absent, file, ropewalk};
use serde_json::Value;

const SPINS: &str = "\
(module $m
  (type $f (func)) (type $c (cont $f))
  (elem declare func $body)
  (func $spin (local $n i32)
    (local.set $n (i32.const 100_000_000))
    (loop $l (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $body (call $spin))
  (func (export \"run\") (resume $c (cont.new $c (ref.func $body))))
  (func (export \"fail\") (call $spin) (unreachable)))";

#[test]
fn folded_stacks_go_through_parents() {
    let path = file("profiling.wat", SPINS);
    let profile = absent("profiling.folded");
    ropewalk(&["run", "--invoke", "run", "--profile", &profile, &path]).prints("");
    let folded = std::fs::read_to_string(profile).unwrap();
    // Some samples may be taken before the continuation runs.
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let most = folded.lines().max_by_key(|line| count(line)).unwrap();
    assert!(most.starts_with("m!run;m!body;m!spin "), "{folded}");
}

#[test]
fn json_has_samples_at_the_interval() {
    let path = file("profiling-json.wat", SPINS);
    let profile = absent("profiling.json");
    let arguments = ["run", "--invoke", "fail", "--profile-interval", "2ms", "--profile"];
    let arguments = [&arguments[..], &[&profile, &path]].concat();
    ropewalk(&arguments).fails(134, &["unreachable"]);
    let json: Value = serde_json::from_str(&std::fs::read_to_string(profile).unwrap()).unwrap();
    assert_eq!(json["meta"]["interval"], 2.0);
    let thread = &json["threads"][0];
    assert!(thread["samples"]["length"].as_u64().unwrap() > 0);
    assert!(thread.to_string().contains("m!spin"));
}

#[test]
fn a_profile_that_cannot_be_written_is_an_error_before_the_program_runs() {
    let path = file("profiling-nowhere.wat", SPINS);
    let outcome = ropewalk(&["run", "--invoke", "fail", "--profile", "/nowhere/p", &path]);
    outcome.fails(1, &["cannot write the profile /nowhere/p"]);
    assert!(!outcome.stderr.contains("unreachable"), "{outcome:?}");
}
