//! Scripts with dialect modules: the parser of scripts reads them, and positions are those of the
//! script.

use crate::common::errors::{SWITCHING, validate};
use ropewalk_text::{Script, Text, TextError};
use wast::parser::{self, ParseBuffer};
use wast::{QuoteWat, Wast, WastDirective, WastExecute};

const SCRIPT: &str = r#"(module $standard (func (export "switch")))
(module $m (type $c (stack (ref $c))) ;; é
  (func (export "f") (result i32) (i32.const 1)))
(module definition $d
  (type $c (stack (ref null $c))))
(assert_invalid (module (type $c (stack
  (param i32)))) "stack")
(assert_malformed (module quote "(type $c (stack" "(ref $x)))") "unknown type")
(assert_malformed (module (type $c (stack (ref $c))) (func (switch $x))) "unknown type")
(assert_unlinkable (module (type $c (stack (ref $c))) (import "a" "b" (func))) "import")
(assert_trap (module (type $c (stack (ref $c))) (start $f) (func $f unreachable)) "unreachable")
(assert_return (invoke $m "f") (i32.const 1))
(assert_invalid (module (type $c (stack (ref $c))) (func (result i32) (i64.const 1))) "type")
"#;

fn modules() -> Vec<Result<Text, TextError>> {
    let script = Script::new(SCRIPT);
    assert_eq!(script.text().len(), SCRIPT.len());
    let mut buffer = ParseBuffer::new(script.text()).unwrap();
    buffer.track_instr_spans(true);
    let directives = parser::parse::<Wast>(&buffer).unwrap().directives;
    let read = |mut module: QuoteWat<'_>| Text::from_script(&mut module, &script);
    directives.into_iter().filter_map(module).map(read).collect()
}

fn module(directive: WastDirective<'_>) -> Option<QuoteWat<'_>> {
    match directive {
        WastDirective::Module(module)
        | WastDirective::ModuleDefinition(module)
        | WastDirective::AssertInvalid { module, .. }
        | WastDirective::AssertMalformed { module, .. } => Some(module),
        WastDirective::AssertUnlinkable { module, .. }
        | WastDirective::AssertTrap { exec: WastExecute::Wat(module), .. } => {
            Some(QuoteWat::Wat(module))
        }
        _ => None,
    }
}

#[test]
fn every_module_is_read() {
    let found: Vec<String> = modules().iter().map(describe).collect();
    assert_eq!(
        found,
        [
            "standard",
            "lowered",
            "lowered",
            "7:10 invalid",
            "8:57 malformed",
            "9:68 malformed",
            "lowered",
            "lowered",
            "lowered"
        ]
    );
}

fn describe(module: &Result<Text, TextError>) -> String {
    match module {
        Ok(text) if text.lowered().is_some() => "lowered".to_string(),
        Ok(_) => "standard".to_string(),
        Err(error) => {
            let kind = if error.is_invalid() { "invalid" } else { "malformed" };
            format!("{} {kind}", error.position().unwrap())
        }
    }
}

/// A thread has its own directives, with modules inside assertions too.
#[test]
fn modules_of_threads_are_found() {
    let script = Script::new(
        r#"(module $m (memory (export "m") 1))
(thread $t (shared (module $m))
  (module (type $c (stack (ref $c))) (func (switch $x)))
  (assert_invalid (module (func (param fiberref) (result i32) (local.get 0))) "type"))
(wait $t)
"#,
    );
    let buffer = ParseBuffer::new(script.text()).unwrap();
    let directives = parser::parse::<Wast>(&buffer).unwrap().directives;
    let threads = directives.into_iter().filter_map(|directive| match directive {
        WastDirective::Thread(thread) => Some(thread.directives),
        _ => None,
    });
    let read = |mut module: QuoteWat<'_>| Text::from_script(&mut module, &script);
    let modules: Vec<_> = threads.flatten().filter_map(module).map(read).collect();
    let found: Vec<String> = modules.iter().map(describe).collect();
    assert_eq!(found, ["3:52 malformed", "lowered"]);
}

#[test]
fn positions_are_those_of_the_script() {
    let text = modules().pop().unwrap().unwrap();
    let error = validate(&text, SWITCHING).unwrap_err();
    assert_eq!(error.position().unwrap().to_string(), "13:84");
}

#[test]
fn definitions_become_modules() {
    let text = modules().remove(2).unwrap();
    let lowered = text.lowered().unwrap();
    assert!(lowered.starts_with("(module  $d"), "{lowered}");
    assert!(wasmprinter::print_bytes(text.binary()).unwrap().starts_with("(module $d"));
}

#[test]
fn a_script_without_dialects_is_not_copied() {
    let script = Script::new("(module (func (export \"stack\")))");
    assert_eq!(script.text().as_ptr(), script.source().as_ptr());
}

/// Checks the error that the parser of scripts reports.
#[track_caller]
fn check(source: &str, position: (usize, usize), message: &str) {
    let script = Script::new(source);
    let error = ParseBuffer::new(script.text())
        .and_then(|buffer| parser::parse::<Wast>(&buffer).map(drop))
        .expect_err("the script can be read");
    let (line, column) = error.span().linecol_in(source);
    assert_eq!((line + 1, column + 1), position, "{error}\n{}", script.text());
    assert!(error.message().contains(message), "{error}");
}

/// An unreadable part is reported at its position, and no earlier dialect module is blamed.
#[test]
fn an_unreadable_script() {
    let module = "(module (func (local $x stackref)))\n";
    let after =
        |rest: &str, position, message| check(&format!("{module}{rest}"), position, message);
    after(r#"(assert_return (invoke "\zz"))"#, (2, 26), "invalid string escape");
    after(r#"(assert_return (invoke "f"#, (2, 26), "unexpected end-of-file");
    after(r#"(assert_return (invoke "f")"#, (2, 28), "expected `)`");
    after("(module))", (2, 9), "extra tokens");
    after("(module (func $é))", (2, 15), "empty identifier");
    after("(module) (; never closed", (2, 10), "unterminated block comment");
    after("(assert_retrun (invoke \"f\"))\n\"", (2, 2), "unexpected token");
}

#[test]
fn an_unreadable_dialect_module() {
    check("(module (type $c (stack (ref $c)))", (1, 35), "expected `)`");
    check(
        "(module (type $c (stack (ref $c)))\n (export \"\\q\" (func $f)))",
        (2, 12),
        "escape 'q'",
    );
    check("(module (func (local $x stackref) \u{1}))", (1, 35), "unexpected character");
    check("stack \u{1}", (1, 7), "unexpected character");
}
