//! What `ropewalk run` leaves of a program that failed: who waits for whom, the list of its
//! stacks, and a core dump.

use crate::process::{absent, file, root, ropewalk};

/// A producer is suspended, and then a consumer waits for somebody who handles `$get`.
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
fn an_unhandled_tag_says_who_waits_for_whom() {
    let path = stuck("post-mortem-waits");
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
fn no_report_is_made_if_nothing_is_suspended() {
    let module = "(module (tag $t) (func (export \"run\") (suspend $t)))";
    let path = file("post-mortem-alone.wat", module);
    let outcome = ropewalk(&["run", "--invoke", "run", &path]);
    outcome.fails(134, &["unhandled tag"]);
    assert!(!outcome.stderr.contains("these stacks wait"), "{outcome:?}");
}

#[test]
fn the_stacks_of_a_program_that_fails_are_written_as_text_and_as_json() {
    let path = stuck("post-mortem-stacks");
    let (text, json) = (absent("post-mortem.txt"), absent("post-mortem.json"));
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
fn a_core_dump_is_written_when_a_program_fails_and_only_then() {
    let path = stuck("post-mortem-core");
    let dump = absent("post-mortem.core");
    ropewalk(&["run", "--invoke", "run", "--coredump", &dump, &path]).fails(134, &[]);
    let bytes = std::fs::read(&dump).unwrap();
    let sections = wasmparser::Parser::new(0).parse_all(&bytes).filter_map(|payload| match payload
        .expect("a dump is a module")
    {
        wasmparser::Payload::CustomSection(section) => Some(section.name().to_string()),
        _ => None,
    });
    let sections: Vec<_> = sections.collect();
    let stacks = sections.iter().filter(|name| *name == "corestack").count();
    assert_eq!(stacks, 3, "{sections:?}");
    assert!(sections.contains(&"coreinstances".to_string()));
    let unwritten = absent("post-mortem-not.core");
    let example = root().join("examples/continuations-generator.wat");
    ropewalk(&["run", "--coredump", &unwritten, example.to_str().unwrap()]);
    assert!(!std::path::Path::new(&unwritten).exists());
}

#[test]
fn a_core_dump_that_cannot_be_written_is_an_error() {
    let path = stuck("post-mortem-nowhere");
    let outcome = ropewalk(&["run", "--invoke", "run", "--coredump", "/nowhere/core", &path]);
    outcome.fails(1, &["cannot write the core dump", "/nowhere/core"]);
}
