//! The module of all cases.

use super::design_stacks;

/// Its functions compare values that live across a call, and trap with `unreachable` if they
/// differ.
const SOURCE: &str = r#"
  (type $f (func (param i32) (result i32)))
  (type $k (cont $f))
  (type $through (func (param i32 i32) (result i32)))
  (type $t (cont $through))
  (type $s (struct (field (mut i32)) (field (ref null $s))))
  (type $a (array (mut i64)))
  (import "host" "plain" (func $plain (type $f)))
  (import "host" "caller" (func $caller (type $f)))
  (import "host" "dynamic" (func $dynamic (type $f)))
  (import "host" "values" (func $values (type $f)))
  (import "host" "later" (func $later (type $f)))
  (import "host" "boxed" (func $boxed (type $f)))
  (import "host" "async fn" (func $async_fn (type $f)))
  (import "host" "dynamic async" (func $dynamic_async (type $f)))
  (import "host" "concurrent" (func $concurrent (type $f)))
  (import "host" "new_stack" (func $new_stack (result stackref)))
  (table $hosts funcref (elem $plain $caller $dynamic $values $later $boxed $async_fn
    $dynamic_async $concurrent))
  (memory (export "memory") 1 1000)
  (table $values (export "table") 1 1000 externref)
  (tag $yield (export "yield") (param i32) (result i32))
  (tag $failure (export "failure") (param i32))
  (global (export "kept") (mut externref) (ref.null extern))

  ;; Calls a host function with much alive.
  (func $host (type $through)
    (local $a i64) (local $b f64) (local $c v128) (local $d (ref null $s)) (local $y i32)
    (local.set $a (i64.extend_i32_s (local.get 1)))
    (local.set $b (f64.convert_i32_s (local.get 1)))
    (local.set $c (i32x4.splat (local.get 1)))
    (local.set $d (struct.new $s (local.get 1) (ref.null $s)))
    (local.set $y (call_indirect $hosts (type $f) (local.get 1) (local.get 0)))
    (if (i64.ne (local.get $a) (i64.extend_i32_s (local.get 1))) (then (unreachable)))
    (if (f64.ne (local.get $b) (f64.convert_i32_s (local.get 1))) (then (unreachable)))
    (if (i32.ne (i32x4.extract_lane 2 (local.get $c)) (local.get 1)) (then (unreachable)))
    (if (i32.ne (struct.get $s 0 (local.get $d)) (local.get 1)) (then (unreachable)))
    (local.get $y))
  (func $handled (type $through) (local $y i32)
    (if (i32.ne (suspend $yield (i32.const 11)) (i32.const 11)) (then (unreachable)))
    (local.set $y (call $host (local.get 0) (local.get 1)))
    (if (i32.ne (suspend $yield (i32.const 12)) (i32.const 12)) (then (unreachable)))
    (local.get $y))
  (elem declare func $host $handled)
  (func $deep_host (param $n i32) (param $kind i32) (param $x i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (i32.const 1)
        (call $deep_host (i32.sub (local.get $n) (i32.const 1)) (local.get $kind) (local.get $x))))
      (else (call $host (local.get $kind) (local.get $x)))))
  ;; Whatever it suspends with is what it is resumed with.
  (func $echo (param $k (ref $t)) (param $kind i32) (param $x i32) (result i32)
    (local $rest (ref null $k)) (local $value i32)
    (block $first (result i32 (ref $k))
      (return (resume $t (on $yield $first) (local.get $kind) (local.get $x) (local.get $k))))
    (local.set $rest) (local.set $value)
    (loop $more
      (block $again (result i32 (ref $k))
        (return (resume $k (on $yield $again) (local.get $value) (local.get $rest))))
      (local.set $rest) (local.set $value)
      (br $more))
    (unreachable))

  (func (export "through") (param $path i32) (param $kind i32) (param $x i32) (result i32)
    (block $deep (block $caught (block $handled (block $on (block $direct
      (br_table $direct $on $handled $caught $deep (local.get $path)))
      (return (call $host (local.get $kind) (local.get $x))))
      (return (resume $t (local.get $kind) (local.get $x) (cont.new $t (ref.func $host)))))
      (return (call $echo (cont.new $t (ref.func $handled)) (local.get $kind) (local.get $x))))
      (block $thrown
        (try_table (catch_all $thrown)
          (return (call $host (local.get $kind) (local.get $x)))))
      (return (i32.const -1000000)))
    (i32.sub (call $deep_host (i32.const 100) (local.get $kind) (local.get $x)) (i32.const 100)))

  (func $deep (export "deep") (param $n i32) (result i32) (local i64 i64 i64 i64)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $deep (i32.sub (local.get $n) (i32.const 1)))))))
  ;; Suspends at a depth, and returns it.
  (func $body (param $n i32) (result i32)
    (if (i32.eqz (local.get $n))
      (then (return (i32.sub (suspend $yield (i32.const 5)) (i32.const 5)))))
    (i32.add (i32.const 1) (call $body (i32.sub (local.get $n) (i32.const 1)))))
  (elem declare func $body)
  (func $suspended (export "suspended") (param $n i32) (result i32)
    (local $rest (ref null $k)) (local $value i32)
    (block $on (result i32 (ref $k))
      (return (resume $k (on $yield $on) (local.get $n) (cont.new $k (ref.func $body)))))
    (local.set $rest) (local.set $value)
    (resume $k (local.get $value) (local.get $rest)))
  ;; Suspends n times, and returns the sum of the values that it is resumed with.
  (func (export "steps") (param $n i32) (result i32) (local $sum i32)
    (block $done (loop $more
      (br_if $done (i32.eqz (local.get $n)))
      (local.set $sum (i32.add (local.get $sum) (suspend $yield (local.get $n))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $more)))
    (local.get $sum))

  (func $objects (export "objects") (param $n i32) (result i32)
    (local $list (ref null $s)) (local $count i32) (local.set $count (local.get $n))
    (loop $more
      (local.set $list (struct.new $s (local.get $n) (local.get $list)))
      (drop (array.new_default $a (i32.const 50)))
      (br_if $more (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))
    (loop $next
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (if (i32.ne (struct.get $s 0 (local.get $list)) (local.get $n)) (then (unreachable)))
      (br_if $next (i32.eqz (ref.is_null (local.tee $list (struct.get $s 1 (local.get $list)))))))
    (local.get $n))
  (func (export "busy") (param $n i32) (result i32)
    (if (i32.ne (call $objects (local.get $n)) (local.get $n)) (then (unreachable)))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 0) (call $deep (i32.mul (local.get $n) (i32.const 20))))
    (if (i32.ne (i32.load (i32.const 0)) (i32.mul (local.get $n) (i32.const 20)))
      (then (unreachable)))
    (call $suspended (local.get $n)))
  (func (export "spin") (param $n i32) (result i64)
    (local $a i64) (local $b i64) (local $c f64) (local $d v128)
    (loop $more
      (local.set $a (i64.add (local.get $a) (i64.const 1)))
      (local.set $b (i64.add (local.get $b) (i64.const 3)))
      (local.set $c (f64.add (local.get $c) (f64.const 0.5)))
      (local.set $d (i32x4.add (local.get $d) (v128.const i32x4 1 2 3 4)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i64.add (i64.add (local.get $a) (local.get $b))
      (i64.add (i64.mul (i64.const 2) (i64.trunc_f64_s (local.get $c)))
        (i64.extend_i32_s (i32x4.extract_lane 3 (local.get $d))))))
  (func (export "fault") (param i32) (result i32) (i32.load (i32.const -1)))
  (func (export "grow memory") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "grow table") (param i32) (result i32)
    (table.grow $values (ref.null extern) (local.get 0)))
"#;

/// The text of the module, with the functions that run on stacks of the other designs.
pub fn source() -> String {
    format!("(module {SOURCE} {})", design_stacks::SOURCE)
}

/// Types that the module does not have.
pub const OTHER_TYPES: &str = r#"
(module
  (type (func (param i64 f32) (result f64))) (type (struct (field f32) (field (mut i64))))
  (type (array (mut f32))) (type (func (param externref) (result i64)))
  (tag (param f64)))"#;

/// The result of `spin` for an even number.
pub fn spun(n: i32) -> i64 {
    i64::from(n) * (1 + 3 + 1 + 4)
}

/// The result of a call whose host function threw an exception that the module caught.
pub const CAUGHT: i32 = -1_000_000;
