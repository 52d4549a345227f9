//! Positions of all operators of a module.

use crate::common::errors::validate;
use crate::common::operators::check_operators;
use ropewalk_text::Text;
use wasmparser::WasmFeatures;

#[track_caller]
fn check(source: &str) {
    let text = Text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    validate(&text, WasmFeatures::all()).unwrap_or_else(|error| panic!("{error}"));
    assert!(check_operators(&text, source, usize::MAX) > 0);
}

#[test]
fn plain_and_folded_code() {
    check(
        "(module
  (func $fac (param $n i64) (result i64)
    (if (result i64) (i64.le_u (local.get $n) (i64.const 1))
      (then (i64.const 1))
      (else (i64.mul (local.get $n)
                     (call $fac (i64.sub (local.get $n) (i64.const 1)))))))
  (func (param i32) (result i32) (local i32 i32 f64)
    block $out
      loop $again
        local.get 0
        i32.eqz
        br_if $out
        (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
        br $again
      end
    end
    local.get 0
    if (result i32)
      i32.const 1
    else
      i32.const 2
      i32.const 3
      i32.add
    end)
  (func (block (loop (nop) (br 1)) (unreachable)) return))",
    );
}

#[test]
fn control() {
    check(
        "(module
  (type $f (func (param i32) (result i32)))
  (table $t 4 funcref)
  (tag $e (param i32))
  (func $id (type $f) local.get 0)
  (elem declare func $id)
  (func (param i32) (result i32)
    (block $a (block $b (block $c (br_table $a $b $c (local.get 0)))))
    (drop (call_indirect $t (type $f) (local.get 0) (i32.const 0)))
    (drop (call_ref $f (local.get 0) (ref.func $id)))
    (drop (select (i32.const 1) (i32.const 2) (local.get 0)))
    (drop (select (result f32) (f32.const 1) (f32.const 2) (local.get 0)))
    (block $caught (result i32)
      (try_table (catch $e $caught) (throw $e (i32.const 9)))
      (i32.const 0))
    drop
    (block $null (drop (br_on_null $null (ref.null func))))
    (return_call $id (local.get 0))))",
    );
}

#[test]
fn memories_tables_and_vectors() {
    check(
        "(module
  (memory 1) (memory $two 1)
  (table 2 funcref)
  (data $d \"abc\") (elem $e funcref)
  (global $g (mut v128) (v128.const i32x4 1 2 3 4))
  (func
    (i32.store8 offset=3 (i32.const 0) (i32.load16_s align=1 (i32.const 0)))
    (i64.store $two (i32.const 0) (i64.load32_u $two (i32.const 8)))
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))
    (memory.copy $two 0 (i32.const 0) (i32.const 0) (i32.const 1))
    (memory.fill (i32.const 0) (i32.const 0) (memory.grow (memory.size)))
    data.drop $d
    (table.init $e (i32.const 0) (i32.const 0) (i32.const 0))
    (table.set (i32.const 0) (table.get (i32.const 1)))
    elem.drop $e
    (global.set $g (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
      (v128.load8x8_s (i32.const 0)) (i32x4.splat (i32.const 1))))
    (drop (i32.trunc_sat_f64_s (f64.promote_f32 (f32.const nan))))
    (drop (i16x8.extract_lane_u 3 (i16x8.q15mulr_sat_s (global.get $g) (global.get $g))))))",
    );
}

#[test]
fn structures_and_references() {
    check(
        "(module
  (rec (type $s (struct (field $x i32) (field (mut i8)))) (type $a (array (mut i64))))
  (func (result anyref)
    (drop (struct.get $s $x (struct.new $s (i32.const 1) (i32.const 2))))
    (drop (array.len (array.new_fixed $a 2 (i64.const 1) (i64.const 2))))
    (drop (i31.get_s (ref.i31 (i32.const 5))))
    (drop (ref.test (ref $s) (ref.null any)))
    (drop (ref.is_null (ref.cast (ref null $a) (ref.null none))))
    (block $l (result anyref)
      (br_on_cast $l anyref (ref $s) (ref.null any)))))",
    );
}

#[test]
fn constant_expressions() {
    check(
        "(module
  (type $f (func))
  (global $i i32 (i32.add (i32.const 1) (i32.mul (i32.const 2) (i32.const 3))))
  (global (ref $f) ref.func $f)
  (table 1 (ref $f) (ref.func $f))
  (table $t 9 funcref)
  (memory 1)
  (func $f)
  (elem (table $t) (offset global.get $i i32.const 1 i32.sub) func $f $f)
  (elem (table $t) (i32.const 0) funcref (ref.null func) (item ref.func $f))
  (elem declare func $f)
  (data (i32.const 4) \"abc\")
  (data (memory 0) (i32.add (global.get $i) (i32.const 4)) \"abc\")
  (data (offset (global.get $i)) \"abc\"))",
    );
}

#[test]
fn after_sugar() {
    let text = r#"(module $m
  (func $log (export "l") (import "host" "log") (param i32))
  (global $g (export "g") (import "host" "g") i64)
  (memory (export "m") (data "abc"))
  (table funcref (elem $a $b))
  (type $f (func))
  (func $f)
  (table (export "t") (ref null $f) (elem $f 1))
  (func $a (export "a") (export "a2") (param $x i32) (result i32 i32)
    (local.get $x)
    (block (param i32) (result i32 i32) (i32.const 1)))
  (func $b (@name "b") (; é漢 ;) (call $log (i32.const 1)) ;; 😀
    (call_indirect (param i32) (result i32 i32) (i32.const 1) (i32.const 0)) drop drop))"#;
    check(text);
}

#[test]
fn continuations() {
    check(
        "(module
  (type $f (func)) (type $k (cont $f))
  (type $g (func (param i32))) (type $h (cont $g))
  (tag $yield) (tag $swap)
  (func $body
    (suspend $yield))
  (elem declare func $body)
  (func (param (ref $k)) (local $k (ref null $k))
    (block $on (result (ref $k))
      (resume $k (on $yield $on) (local.get 0))
      return)
    local.set $k
    (resume_throw $k $yield (local.get $k))
    (drop (cont.bind $h $k (i32.const 1) (ref.null $h)))
    (resume $k (cont.new $k (ref.func $body)))))",
    );
}

#[test]
fn quoted_code() {
    check(
        r#"(module quote "(func $f (param i32) (result i32)" "(i32.add (local.get \30)" "(i32.const 1)))")"#,
    );
}
