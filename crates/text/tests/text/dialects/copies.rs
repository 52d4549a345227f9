//! `cont.clone` and `stack.clone`: their lowering and their errors.

use crate::common::errors::{self, error_at};
use crate::common::lowering::{field_of, lower};
use ropewalk_text::Text;

/// The first line of every module below.
const HEAD: &str = "(type $f (func (param i32))) (type $k (cont $f)) \
    (type $c (stack (param i32) (ref null $c))) (type $t (task))\n";

#[test]
fn clones_are_calls_of_reserved_imports() {
    let check = |source: &str, expected: &str| assert_eq!(field_of(HEAD, source), expected);
    check(
        "(func (param (ref null $k)) (result (ref $k)) (cont.clone $k (local.get 0)))",
        "(func (param (ref null $k)) (result (ref $k)) (call $cont.clone (local.get 0)))",
    );
    check(
        "(func (param (ref null $c)) (result (ref $c)) local.get 0 stack.clone $c)",
        "(func (param (ref null $c)) (result (ref $c)) local.get 0 call $stack.clone)",
    );
    let first_class = "(module (func (param stackref) (result stackref stackref)
        (stack.clone (local.get_clear 0))))";
    assert!(lower(first_class).contains("(import \"ropewalk:first-class\" \"clone\""));
}

#[test]
fn each_type_is_imported_once() {
    let lowered = lower(
        "(module (type $f (func)) (type $k (cont $f)) (type $g (func (param i32)))
           (type $j (cont $g))
           (func (param (ref $k)) (drop (cont.clone $k (cont.clone $k (local.get 0)))))
           (func (param (ref $j)) (drop (cont.clone $j (local.get 0)))))",
    );
    assert_eq!(lowered.matches("(import \"ropewalk:cont\" \"clone\"").count(), 2);
}

#[test]
fn cont_clone_makes_a_dialect_module() {
    let standard = "(module (type $f (func)) (type $k (cont $f))
        (func (param (ref 1)) (resume 1 (local.get 0))))";
    assert_eq!(Text::parse(standard).unwrap().lowered(), None);
    let error = error_at(
        "(type $f (func)) (type $k (cont $f))
(func (param (ref 1)) (drop (cont.clone $k (local.get 0))))",
        "2:19",
    );
    assert!(error.message().contains("found the number 1"), "{error}");
}

#[test]
fn errors_are_shown_in_the_source() {
    let rows = r"
(func (drop (cont.clone ^(ref.null $k)))) => ..the name of a continuation type
(func (drop (cont.clone ^1 (ref.null $k)))) => ..found the number 1
(func (drop (cont.clone ^$x (ref.null $k)))) => unknown type
(func (drop (stack.clone ^2 (ref.null $c)))) => ..found the number 2
";
    errors::malformed(HEAD, rows);
    let rows = r"
(func (drop (cont.clone ^$f (ref.null $k)))) => ..but `$f` is a function type
(func (drop (cont.clone ^$t (ref.null $k)))) => ..but `$t` is a task type
(func (drop (stack.clone ^$k (ref.null $k)))) => expected a stack type
(func (param (ref $c)) (drop (^cont.clone $k (local.get 0)))) => type mismatch
(global (ref null $k) (^cont.clone $k (ref.null $k))) => constant expression
";
    errors::invalid(HEAD, rows);
}
