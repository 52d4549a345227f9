//! Broken and random text with first-class stacks: no panics, no overflow, bounded time.

use crate::common::broken_sources::{breakages, exercise, random_texts};
use ropewalk_text::Text;

const MODULE: &str = r#"(module $m (@name "é漢")
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e (export "e") (param i32 stackref)) (event $n)
  (call_tag $ask (param i32) (result i32))
  (global $g (mut stackref) (ref.null stack)) (table $t i64 4 stackref)
  (rout $r (param $x stackref) (result i32)
    (block $l (answer $ask (local.get_clear $x) drop within (stack.redirect $x
      try stack.start catch $n $l end)))
    (i32.const 1))
  (func $f (param $p i32) (param stackref) (result i32) (local $z (ref func)) (local $s stackref)
    (local.set $z (ref.func $f)) (stack.redirect_to (drop (local.get $z)) local.get_clear $s then
      (local.set_cleared $s) (local.set $p (local.tee $p)) within
      (loop $l (if (call_stack $ask (i32.const 1)) (then (br $l)) (else (return (i32.const 2))))))
    (global.set_cleared $g (stack.extend $r (table.get_clear $t (i64.const 1)) (call $new)))
    answer $ask (result i32) local.get 0 i32.add within (block $k (result i32) (try_table (catch_all $l)
      (stack.switch $e (i32.const 1) (global.get_clear $g))) br $k) end
    (stack.switch_call $f (i32.const 1) (local.get_clear 1)))
  (elem declare func $f) (export "f" (func $f)))"#;

const PIECES: &[&str] = &["", "(", ")", "$", "0", " end ", " within ", " (answer $ask ", " try "];

#[test]
fn broken_modules() {
    exercise(MODULE);
    breakages(MODULE, PIECES).for_each(|broken| exercise(&broken));
}

#[test]
fn random_words() {
    let words = "( ( ( ) ) ) stackref $a $b 0 (func (rout (event (call_tag (param (local \
        answer $ask within then end try catch (catch (try stack.redirect stack.redirect_to (answer \
        (stack.redirect stack.start call_stack stack.switch stack.extend local.get_clear local.set \
        (table.set_cleared (global (mut ref.null stack return (block $l loop br (import \"host\" \
        \"new_stack\" (export (elem select (result (on if else";
    for (number, text) in random_texts(words, 40_000).enumerate() {
        match number % 2 {
            0 => exercise(&text),
            _ => exercise(&format!("(call_tag $ask) (func $a (param $b stackref) {text})")),
        }
    }
}

#[test]
fn deep_nesting() {
    const DEPTH: usize = 5_000;
    let module = |body: String| format!("(call_tag $a) (func (local $x stackref) {body})");
    let nested = |open: &str, close: &str| module(open.repeat(DEPTH) + &close.repeat(DEPTH));
    drop(Text::parse(&nested("(block $l (try (nop) ", "catch $e $l))")));
    drop(Text::parse(&nested("block $l ", "end ")));
    drop(Text::parse(&nested("(stack.redirect $x ", ")")));
    drop(Text::parse(&nested("(answer $a within ", ")")));
    drop(Text::parse(&nested("(answer $a ", " within)")));
    drop(Text::parse(&nested("(answer $a ", "")));
    drop(Text::parse(&module("stack.redirect_to ".repeat(DEPTH))));
}

#[test]
fn many_things() {
    const COUNT: usize = 3_000;
    let functions: String = (0..COUNT)
        .map(|n| {
            format!(
                "(call_tag $c{n} (param i32) (result i32))
                 (func (param $x i32) (param $s stackref) (result i32)
                   (stack.redirect $s (result i32)
                     (answer $c{n} (result i32) (i32.add (local.get $x)) within
                       (call_stack $c{n} (local.get $x)))))\n"
            )
        })
        .collect();
    assert!(Text::parse(&format!("(module {functions})")).is_ok());
}

/// Closures with many locals: with and without names, with and without defaults.
#[test]
fn many_locals_in_an_answer() {
    const COUNT: usize = 5_000;
    let each = |part: fn(usize) -> String| (0..COUNT).map(part).collect::<String>();
    let locals = "i32 ".repeat(COUNT) + &each(|n| format!(") (local $x{n} (ref func)"));
    let set = each(|n| format!("(local.set {n} (i32.const 1)) (local.set $x{n} (ref.func $f))"));
    let get = each(|n| format!("(drop (local.get {n})) (drop (local.get $x{n}))"));
    let function = format!("(func $f (local {locals}) {set} (answer $c {get} within))");
    assert!(Text::parse(&format!("(call_tag $c) (elem declare func $f) {function}")).is_ok());
}
