//! Broken and random text with dialects: no panics, no overflow, bounded time.

use crate::common::broken_sources::{breakages, exercise, random_texts};
use ropewalk_text::Text;

const MODULE: &str = r#"(module $m (@name "é漢")
  (rec (type $a (sub (stack (param $x i32) (ref null $b)))) (type $b (stack (param (ref $a)))))
  (type $i (stack (param i64 i32) (ref null $b)))
  (tag $e (param i32 (ref null stack)))
  (global $g (mut (ref null $a)) (ref.null nostack))
  (func $f (export "f") (param (ref $a)) (switch_retire $a (i32.const 1) (local.get 0)))
  (func $h (param i64 i32 (ref null stack)))
  (func $n (param (ref $a)) (result i32) (local $z (ref null stack))
    (drop (stack.bind $i $a (i64.const 1) (stack.new $i $h)))
    stack.new $b $f local.set $z
    (if (switch_throw $b $e (i32.const 1) (ref.null $b)) (drop) (then nop))
    (return_switch $a $n (i32.const 1) (local.get 0))))"#;

const FIBERS: &str = r#"(module
  (tag $e) (tag $n (param i32 (ref fiber))) (global $g (mut fiberref) (ref.null fiber))
  (func $f (param i64 fiberref)) (func $h (param i64 (ref fiber) i32 (ref fiber)))
  (func (param i64) (local $x fiberref)
    (global.set $g (fiber.new $e (on $e $f) (on $n $h) (local.get 0)))
    (block $l (fiber.mount $e (on $e $l) (global.get $g)) fiber.new fiber.release)
    (block $m (result (ref fiber) i32 (ref fiber))
      (drop (fiber.switch_new $e $f (on $n $m) (local.get 0) (local.get $x))) (unreachable))
    (unreachable) (fiber.dismount_release $n)))"#;

const TASKS: &str = r#"(module (type $t (task (param i32 (ref null $t)) (result i64)))
  (type $u (sub final (taskref ((ref null $t)) (i64))))
  (func $f (param (ref null $t) i32 (ref null $t) f32) (result i64)
    task.new $u $g drop (task.suspend $t (local.get 0) (i64.const 1)) drop drop
    (task.retire $t (local.get 0) (i64.const 2)))
  (func $g (param (ref $u) (ref null $t)) (result i64)
    (task.switchto $u $t (local.get 0) (task.new $t $f (f32.const 1)) (i32.const 1) (local.get 1))
    (task.resume $u (local.get 0))))"#;

const PIECES: &[&str] = &["", "(", ")", "\"", ";", "$", "0", "é", " stack ", " (ref ", " (on "];

#[test]
fn broken_modules() {
    for module in [MODULE, FIBERS, TASKS] {
        assert!(Text::parse(module).unwrap().lowered().is_some());
        breakages(module, PIECES).for_each(|broken| exercise(&broken));
    }
}

#[test]
fn random_words() {
    let words = "( ( ( ) ) ) stack switch $a $b 0 (type (stack (param (ref null stack) \
        (rec (sub final (func (module switch_throw stack.new stack.bind return_switch (tag $e \
        ref.null nostack i32 \"x\" (import (export definition (@a (task (taskref ( (result task.new \
        task.resume task.switchto";
    random_texts(words, 20_000).for_each(|text| exercise(&text));
}

#[test]
fn deep_nesting() {
    const DEPTH: usize = 100_000;
    let open = "(drop (switch $c ".repeat(DEPTH);
    let module = |body: String| format!("(type $c (stack (ref null $c))) (func {body})");
    let closed = module(format!("{open}(ref.null $c){}", "))".repeat(DEPTH)));
    assert!(Text::parse(&closed).is_ok());
    exercise(&module(open));
    exercise(&"(".repeat(DEPTH));
    exercise(&format!("(type $c (stack {}", "(ref ".repeat(DEPTH)));
    exercise(&format!("stack {}", ")".repeat(DEPTH)));
    let throw = "(switch_throw $c $e ".repeat(DEPTH);
    let thrown = module(format!("{throw}{} (tag $e (param (ref $c)))", ")".repeat(DEPTH)));
    exercise(&thrown);
    let resume = "(task.resume $t ".repeat(DEPTH);
    let resumed = format!("(type $t (task)) (func {resume}{}", ")".repeat(DEPTH + 1));
    assert!(Text::parse(&resumed).is_ok());
    exercise(&format!("(type $t (taskref {}", "(".repeat(DEPTH)));
    let mount = "(fiber.mount $e (on $e $l) ".repeat(DEPTH);
    exercise(&format!("(tag $e) (func (block $l {mount}{}", ")".repeat(DEPTH + 2)));
}

#[test]
fn many_things() {
    const COUNT: usize = 5_000;
    let types: String = (0..COUNT)
        .map(|n| format!("(type $c{n} (stack (param i32) (ref null $c{n})))\n"))
        .collect();
    let uses: String = (0..COUNT)
        .map(|n| {
            format!(
                "(func $f{n} (param i32 (ref null $c{n})))
                 (func (drop (stack.new $c{n} $f{n}))
                   (drop (switch $c{n} (i32.const 1) (ref.null $c{n}))) (drop))\n"
            )
        })
        .collect();
    let text = Text::parse(&format!("(module {types} {uses})")).unwrap();
    assert_eq!(text.lowered().unwrap().matches("(import").count(), 2 * COUNT);
}

#[test]
fn many_types_in_one_group() {
    const COUNT: usize = 5_000;
    let ty = |n: usize| format!("(type $t{n} (task (param (ref null $t{}))))", (n + 1) % COUNT);
    let types: String = (0..COUNT).map(ty).collect();
    assert!(Text::parse(&format!("(module (rec {types}))")).is_ok());
}

#[test]
fn many_function_types() {
    const COUNT: usize = 2_000;
    let fields = |n: usize| {
        format!(
            "(type $s{n} (struct)) (type $unused{n} (func (param (ref $s{n}))))
             (type $t{n} (task (param (ref null $s{n}))))
             (func $f{n} (param (ref null $t{n}) (ref null $s{n})))
             (func (drop (task.new $t{n} $f{n})))\n"
        )
    };
    let fields: String = (0..COUNT).map(fields).collect();
    assert!(Text::parse(&format!("(module {fields})")).is_ok());
}
