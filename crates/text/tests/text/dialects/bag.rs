//! Lowering of the bag of stacks: the result is valid, standard text, and the rest of the source is
//! unchanged.

use crate::common::lowering::{check_table, field_of, lower};
use ropewalk_text::Text;

/// The start of every module: types, functions and tags.
const HEAD: &str = r#"
  (rec
    (type $out (stack (param $value i32) (ref null $in)))
    (type $in (stack (param (ref $out)))))
  (type $start (stack (param i32 i32) (param i64) (ref $out)))
  (type $body (func (param (ref null $out))))
  (tag $stop (param i32 (ref null $out)))
  (func $run (param (ref $out)) (switch_retire $out (i32.const 1) (local.get 0)))
  (func $begin (param i32 i32 i64 (ref $out)) (unreachable))
  (func $next (param i32 (ref null $in)) (result i32) (local.get 0))
"#;

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(field_of(HEAD, source), expected);
}

#[test]
fn types() {
    let rows = r"
(type $a (stack (param i32) (param i64 f32) (ref null $a)))
=> (rec (type $a.func (func (param i32 i64 f32 (ref null $a)))) (type $a (cont $a.func)))
(rec (type $a (stack (param (ref null stack)) (ref $b))) (type $b (stack (ref $a))))
=> (rec (type $a.func (func (param (ref null cont) (ref $b)))) (type $a (cont $a.func))
  (type $b.func (func (param (ref $a)))) (type $b (cont $b.func)))
(type (stack (ref $out)))
=> (rec (type $stack.func (func (param (ref $out)))) (type (cont $stack.func)))
";
    check_table(HEAD, rows);
}

#[test]
fn subtypes() {
    check(
        "(type $a (sub (stack (param (ref $in)) (ref $out))))
  (type $b (sub final $a (stack (param (ref null stack)) (ref null $out))))",
        "(rec (type $a.func (sub (func (param (ref $in) (ref $out))))) (type $a (sub (cont $a.func))))
  (rec (type $b.func (sub final $a.func (func (param (ref null cont) (ref null $out))))) \
         (type $b (sub final $a (cont $b.func))))",
    );
    lower(&format!(
        "(module {HEAD}
           (type $a (sub (stack (param (ref $in)) (ref $out))))
           (type $b (sub $a (stack (param (ref null stack)) (ref null $out))))
           (func (param (ref $b)) (result (ref null $a)) (local.get 0))
           (func (param (ref $b)) (result (ref stack)) (local.get 0))
           (func (result (ref null $b)) (ref.null nostack)))"
    ));
}

#[test]
fn heap_types() {
    let rows = r"
(func (param (ref stack) (ref null nostack)) (result (ref null stack)) (local $x (ref null stack))
  (ref.null stack))
=> (func (param (ref cont) (ref null nocont)) (result (ref null cont)) (local $x (ref null cont))
  (ref.null cont))
(table $t 3 (ref null stack)) (global $g (mut (ref null $out)) (ref.null $out))
=> (table $t 3 (ref null cont)) (global $g (mut (ref null $out)) (ref.null $out))
(type $s (struct (field $f (mut (ref null stack))))) (elem $e (ref null stack) (ref.null stack))
=> (type $s (struct (field $f (mut (ref null cont))))) (elem $e (ref null cont) (ref.null cont))
";
    check_table(HEAD, rows);
}

#[test]
fn plain_instructions() {
    let rows = r"
(func (param $x (ref $in)) (result i32) local.get $x switch $in drop)
=> (func (param $x (ref $in)) (result i32) local.get $x call $stack.switch drop)
(func (param $x (ref null $out)) i32.const 1 local.get $x switch_retire $out)
=> (func (param $x (ref null $out)) i32.const 1 local.get $x
  (call $stack.switch_retire) unreachable)
(func (result (ref $in)) stack.new $in $run)
=> (func (result (ref $in)) (ref.func $run) call $stack.new)
(func (param (ref null $in)) (result i32) local.get 0 return_switch $in $next)
=> (func (param (ref null $in)) (result i32) local.get 0 (call $stack.return_switch) return_call
  $next)
";
    check_table(HEAD, rows);
}

#[test]
fn folded_instructions() {
    let rows = r"
(func (param $x (ref $in)) (result i32) (switch $in (local.get $x)) (drop))
=> (func (param $x (ref $in)) (result i32) (call $stack.switch (local.get $x)) (drop))
(func (param $x (ref null $out)) (switch_retire $out (i32.const 1) (local.get $x)))
=> (func (param $x (ref null $out)) (unreachable (i32.const 1) (local.get $x)
  (call $stack.switch_retire)))
(func (result (ref $in)) (stack.bind $start $in (i32.const 1) (i32.const 2) (i64.const 3)
  (stack.new $start $begin)))
=> (func (result (ref $in)) (call $stack.bind (i32.const 1) (i32.const 2) (i64.const 3)
  (call $stack.new (ref.func $begin))))
(func (param (ref $body)) (result (ref $in)) (stack.new_ref $in $body (local.get 0)))
=> (func (param (ref $body)) (result (ref $in)) (call $stack.new (local.get 0)))
";
    check_table(HEAD, rows);
}

#[test]
fn throwing() {
    let rows = r"
(func (param $x (ref null $in)) (drop (switch_throw $in $stop (i32.const 1) (local.get $x))) drop)
=> (func (param $x (ref null $in)) (drop (nop (i32.const 1) (local.get $x) (block $after (param i32
  (ref null $in)) (result i32 (ref null $in)) (block $sent (param i32 (ref null $in)) (result i32
  (ref null $out)) (try_table (param i32 (ref null $in)) (result i32 (ref null $in))
  (catch $stop $sent) (call $stack.switch_throw)) (br $after)) (unreachable)))) drop)
(func (param $x (ref null $in)) (result i32) i32.const 1 local.get $x return_switch_throw $in $stop
  $next)
=> (func (param $x (ref null $in)) (result i32) i32.const 1 local.get $x (block $sent (param i32
  (ref null $in)) (result i32 (ref null $out)) (try_table (param i32 (ref null $in)) (result i32
  (ref null $in)) (catch $stop $sent) (call $stack.return_switch_throw))
  (return_call $next)) unreachable)
";
    check_table(HEAD, rows);
}

#[test]
fn operands_may_come_from_anywhere() {
    let rows = r"
;; Some operands are on the operand stack.
(func (param (ref $out)) (i32.const 1) (switch_retire $out (local.get 0)))
(func (param (ref $in)) (i32.const 1) (switch_throw $in $stop (local.get 0)) drop drop)
;; An operand sets a local that has no default.
(func (param $p (ref $in)) (result (ref $in)) (local $x (ref $in)) (switch_throw $in $stop
  (i32.const 1) (local.tee $x (local.get $p))) drop drop (local.get $x))
;; In the condition of a folded `if`, and nested.
(func (param $p (ref $in)) (local $i i32) (if (i32.eqz (local.set $i (drop (switch_throw $in $stop
  (i32.const 1) (local.get $p)))) (local.get $i)) (then (nop)) (else (nop))))
(func (param $p (ref null $in)) (drop (switch_throw $in $stop (switch_throw $in $stop (i32.const 1)
  (local.get $p)))) drop)
";
    check_table(HEAD, rows);
}

#[test]
fn functions_are_matched_by_shape() {
    let rows = r"
;; Functions with inline signatures, with type uses, and with the signature of a stack type.
(func $f (param (ref null $out))) (func (drop (stack.new $in $f)))
(func $f (type $body)) (func (drop (stack.new $in $f)))
(func $f (param (ref null stack))) (func (drop (stack.new $in $f)))
(type $t (sub (func (param (ref null stack))))) (func $f (type $t)) (func (drop (stack.new $in $f)))
(rec (type $t (func (param (ref $out)))) (type $u (struct))) (func $f (type $t)) (func (drop
  (stack.new $in $f)))
";
    check_table(HEAD, rows);
    lower(
        "(type $c (stack (param i32) (ref null $c)))
         (func $f (param i32) (param (ref null $c)) unreachable)
         (func (drop (stack.new $c $f)))",
    );
    lower(
        "(module (func $f (import \"a\" \"b\") (param i32 (ref null $c)))
           (import \"a\" \"c\" (func $g (param i32 (ref null $c))))
           (type $c (stack (param i32) (ref null $c)))
           (func (drop (stack.new $c $f)) (drop (stack.new $c $g))))",
    );
}

#[test]
fn tags_may_have_a_supertype_of_the_stack() {
    field_of(
        HEAD,
        "(tag $e (param (ref null stack)))
         (func (param (ref null $in)) (switch_throw $in $e (local.get 0)) (drop) (drop))",
    );
}

#[test]
fn imports_are_shared_and_get_fresh_names() {
    let lowered = lower(&format!(
        "(module $m {HEAD}
           (func $stack.switch (param (ref $in))
             (drop (switch $in (local.get 0))) (drop)
             (drop (switch $in (local.get 0))) (drop)
             (drop (switch $out (i32.const 1) (ref.null $out)))))"
    ));
    assert_eq!(lowered.matches("\"switch\"").count(), 2);
    assert!(
        lowered
            .contains("(func $stack.switch.1 (param (ref null $in)) (result i32 (ref null $in)))")
    );
    assert!(lowered.contains("call $stack.switch.2 (i32.const 1)"));
}

#[test]
fn standard_parts_are_unchanged() {
    let standard = r#"(func $f (; a (; nested ;) comment ( ;) (@name "f") (export "f") (param $x i32) (result v128)
    (local i32 (ref null $k)) ;; a line )
    block $l (param) local.get 0 if nop else nop end end $l
    (block $b (br_table $b $b (local.get 1)))
    i32.const 0 if $i (result i32) i32.const 1 else $i i32.const 2 end $i drop
    (block $c (try_table (catch $t $c) (catch_all $c)))
    (drop (i32.load offset=4 align=2 (i32.const 0)))
    (resume $k (on $t2 switch) (ref.null $k)) (switch $k2 $t2 (ref.null $k2)) (drop)
    (call_indirect 0 (type $g) (i32.const 0)) (drop (table.get 0 (i32.const 0)))
    (drop (struct.get $s 0 (ref.null $s)))
    (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
      (v128.const i32x4 1 2 3 4) (v128.const f32x4 nan 1 0x1p3 -inf)))
  (data (i32.const 0) "(stack)\22\u{1f600}" "\00") (global i32 (i32.const 1_000))
  (type $g (func)) (type $k (cont $g)) (type $s (struct (field i32)))
  (rec (type $g2 (func (param (ref null $k2)))) (type $k2 (cont $g2)))
  (tag $t) (tag $t2) (memory 1) (table 1 funcref)"#;
    let lowered = lower(&format!("(module {standard} (type $c (stack (ref $c))))"));
    assert!(lowered.contains(standard), "{lowered}");
}

#[test]
fn text_without_dialects_is_unchanged() {
    for source in [
        "(module (func $stack (export \"stack.new\")) ;; (stack)\n (@stack (stack (ref stack))))",
        "(type $f (func)) (type $c (cont $f)) (tag $e) (func (switch $c $e (ref.null $c)))",
    ] {
        assert_eq!(Text::parse(source).unwrap().lowered(), None, "{source}");
    }
}

#[test]
fn quoted_modules() {
    let text = Text::parse(r#"(module quote "(type $c (stack" "(ref $c)))")"#).unwrap();
    assert!(text.lowered().unwrap().contains("(cont $c.func)"));
}

#[test]
fn names_in_quotes() {
    let text = r#"(type $"my type" (stack (param i32) (ref null $"my type")))
           (func $"a\u{62}" (param i32 (ref null $"my type")))
           (func (result (ref $"my type")) (stack.new $"my type" $ab))"#;
    lower(text);
}
