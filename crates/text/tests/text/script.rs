//! Modules of a script have positions of the script.

use std::sync::Arc;

use ropewalk_text::{Text, TextError};
use wast::parser::{self, ParseBuffer};
use wast::{QuoteWat, Wast, WastDirective, Wat};

const SCRIPT: &str = r#"(module $a (func (export "f")))
(assert_return (invoke "f"))

(module $b
  (func (export "é") (result i32)
    (i32.add (i32.const 1) (i64.const 2))))
(assert_invalid
  (module quote
    "(func (result i32)"
    "  (i64.const 1))")
  "type mismatch")
(assert_invalid
  (module binary "\00asm" "\01\00\00\00"
    "\03\02\01\05")
  "unknown type")
(module
  (func (call $nowhere)))
"#;

fn errors(track: bool) -> Vec<TextError> {
    let source: Arc<str> = SCRIPT.into();
    let mut buffer = ParseBuffer::new(SCRIPT).unwrap();
    buffer.track_instr_spans(track);
    let directives = parser::parse::<Wast>(&buffer).unwrap().directives;
    directives.into_iter().filter_map(|directive| error(directive, &source)).collect()
}

fn error(directive: WastDirective, source: &Arc<str>) -> Option<TextError> {
    let (WastDirective::Module(mut module) | WastDirective::AssertInvalid { mut module, .. }) =
        directive
    else {
        return None;
    };
    let text = match Text::from_wast(&mut module, Arc::clone(source)) {
        Ok(text) => text,
        Err(error) => return Some(error),
    };
    let error = wasmparser::validate(text.binary()).err()?;
    Some(text.error_at(error.offset() as usize, error.message()))
}

fn positions(errors: &[TextError]) -> Vec<String> {
    errors.iter().map(|error| error.position().unwrap().to_string()).collect()
}

#[test]
fn positions_are_those_of_the_script() {
    assert_eq!(positions(&errors(true)), ["6:6", "10:21", "14:15", "17:15"]);
}

#[test]
fn without_instruction_spans_errors_are_at_the_function() {
    assert_eq!(positions(&errors(false)), ["5:4", "10:21", "14:15", "17:15"]);
}

#[test]
fn a_module_alone() {
    let source = "(assert_unlinkable (module (func i32.add)) \"\")";
    let mut buffer = ParseBuffer::new(source).unwrap();
    buffer.track_instr_spans(true);
    let mut directives = parser::parse::<Wast>(&buffer).unwrap().directives;
    let WastDirective::AssertUnlinkable { module: Wat::Module(module), .. } = &mut directives[0]
    else {
        panic!("{directives:?}");
    };
    let text = Text::from_module(module, source).unwrap();
    let error = wasmparser::validate(text.binary()).err().unwrap();
    assert_eq!(text.position(error.offset() as usize).unwrap().to_string(), "1:34");
}

#[test]
fn a_component_is_not_a_module() {
    let source = "(component quote \"\")";
    let buffer = ParseBuffer::new(source).unwrap();
    let mut directives = parser::parse::<Wast>(&buffer).unwrap().directives;
    let WastDirective::Module(component @ QuoteWat::QuoteComponent(..)) = &mut directives[0] else {
        panic!("{directives:?}");
    };
    let error = Text::from_wast(component, source).unwrap_err();
    assert_eq!(error.message(), "expected a module, found a component");
}
