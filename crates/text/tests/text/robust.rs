//! Broken modules: neither the parser nor the search for positions panics.

use crate::common::broken_sources::{breakages, print_errors};
use ropewalk_text::Text;
use wast::parser::{self, ParseBuffer};
use wast::{Wast, WastDirective};

const FIELDS: &str = r#"(module $m (@name "é漢")
  (type $t (func (param i32) (result i32)))
  (func $log (import "host" "log") (type $t))
  (memory (export "m") (data "abc"))
  (table $e 2 funcref) (elem (i32.const 0) $f 0)
  (global $g (mut i64) (i64.const 7))
  (func $f (export "f") (param $x i32) (result i32) (local $y (ref null $t))
    block (result i32) (i32.add (local.get $x) (i32.const 1)) end
    (if (then nop) (else (call_indirect $e (type $t) (i32.const 1) (i32.const 0)) drop)))
  (data (i32.const 8) "\00\u{1f600}") (start $f))"#;

const BINARY: &str = r#"(module binary "\00asm\01\00\00\00" "\01\04\01\60\00\00" "\03\02\01\00")"#;

const QUOTE: &str =
    r#"(module quote "(func (export \"a\") i32.const \31" "\u{64}rop)" "(start 7)")"#;

const PIECES: &[&str] = &["", "(", ")", "\"", ";", "$", "0", "é", "\\", "end "];

#[test]
fn broken_modules() {
    for source in [FIELDS, BINARY, QUOTE] {
        assert!(Text::parse(source).is_ok());
        breakages(source, PIECES).for_each(|broken| print_errors(&broken, 5));
    }
}

#[test]
fn the_wrong_source() {
    for wrong in ["", "é", "(module", "ééééééééééééééééééééééééééééééééééé("]
    {
        let buffer = ParseBuffer::new(FIELDS).unwrap();
        let mut directives = parser::parse::<Wast>(&buffer).unwrap().directives;
        let WastDirective::Module(module) = &mut directives[0] else { panic!("{directives:?}") };
        let text = Text::from_wast(module, wrong).unwrap();
        for offset in 0..text.binary().len() {
            drop(text.error_at(offset, "").to_string());
        }
    }
}
