//! What `ropewalk run` writes when a program fails: a report of waiting stacks, a list of all
//! stacks, a core dump.

use crate::process::{absent, file, root, ropewalk};

/// A producer is suspended, and then a consumer suspends with `$get`, which has no handler.
const STUCK: &str = "\
(module $m
  (type $f (func)) (type $c (cont $f))
  (tag $put (param i32)) (tag $get (result i32))
  (global $kept (mut (ref null $c)) (ref.null $c))
  (elem declare func $producer $consumer)
  (func $producer (suspend $put (i32.const 1)))
  (func $consumer (drop (suspend $get)))
  (func (export \"run\")
    (block $on (result i32 (ref $c))
      (resume $c (on $put $on) (cont.new $c (ref.func $producer)))
      (return))
    (global.set $kept) (drop)
    (resume $c (cont.new $c (ref.func $consumer)))))";

fn stuck(name: &str) -> String {
    file(&format!("{name}.wat"), STUCK)
}

#[test]
fn an_unhandled_tag_shows_waiting_stacks() {
    let path = stuck("failure-waits");
    let outcome = ropewalk(&["run", "--invoke", "run", &path]);
    outcome.fails(134, &["unhandled tag: $get"]);
    let (_, waits) = outcome.stderr.split_once("these stacks wait:\n").expect("a report");
    let numbers: String = waits.chars().filter(|c| !c.is_ascii_digit()).collect();
    let path: String = path.chars().filter(|c| !c.is_ascii_digit()).collect();
    assert_eq!(
        numbers,
        format!(
            "  stack  (root of m!run) waits for stack , in resume
    at {path}::: m!run
       (resume $c (cont.new $c (ref.func $consumer)))))
  stack  (continuation of m!producer) is suspended
    at {path}::: m!producer
       (func $producer (suspend $put (i.const )))
"
        )
    );
}

#[test]
fn there_is_no_report_if_nothing_is_suspended() {
    let module = "(module (tag $t) (func (export \"run\") (suspend $t)))";
    let path = file("failure-alone.wat", module);
    let outcome = ropewalk(&["run", "--invoke", "run", &path]);
    outcome.fails(134, &["unhandled tag"]);
    assert!(!outcome.stderr.contains("these stacks wait"), "{outcome:?}");
}

#[test]
fn stacks_are_written_as_text_and_as_json() {
    let path = stuck("failure-stacks");
    let (text, json) = (absent("failure.txt"), absent("failure.json"));
    ropewalk(&["run", "--invoke", "run", "--stacks", &text, &path]).fails(134, &[]);
    ropewalk(&["run", "--invoke", "run", "--stacks", &json, &path]).fails(134, &[]);
    let text = std::fs::read_to_string(text).unwrap();
    assert!(text.starts_with("3 stacks\n"), "{text}");
    assert!(text.contains("continuation, suspended  m!producer"), "{text}");
    assert!(std::fs::read_to_string(json).unwrap().contains("\"state\": \"suspended\""));
    let outcome = ropewalk(&["run", "--invoke", "run", "--stacks", "-", &path]);
    outcome.fails(134, &["\n3 stacks\n"]);
}

#[test]
fn a_core_dump_is_written_only_when_a_program_fails() {
    let path = stuck("failure-core");
    let dump = absent("failure.core");
    ropewalk(&["run", "--invoke", "run", "--coredump", &dump, &path]).fails(134, &[]);
    let bytes = std::fs::read(&dump).unwrap();
    let sections = wasmparser::Parser::new(0).parse_all(&bytes).filter_map(|payload| match payload
        .expect("a core dump is a module")
    {
        wasmparser::Payload::CustomSection(section) => Some(section.name().to_string()),
        _ => None,
    });
    let sections: Vec<_> = sections.collect();
    let stacks = sections.iter().filter(|name| *name == "corestack").count();
    assert_eq!(stacks, 3, "{sections:?}");
    assert!(sections.contains(&"coreinstances".to_string()));
    let unwritten = absent("failure-not.core");
    let example = root().join("examples/continuations-generator.wat");
    ropewalk(&["run", "--coredump", &unwritten, example.to_str().unwrap()]);
    assert!(!std::path::Path::new(&unwritten).exists());
}

#[test]
fn a_core_dump_that_cannot_be_written_is_an_error() {
    let path = stuck("failure-nowhere");
    let outcome = ropewalk(&["run", "--invoke", "run", "--coredump", "/nowhere/core", &path]);
    outcome.fails(1, &["cannot write the core dump", "/nowhere/core"]);
}
