;; Events, closures and results of fibers carry values of every type.

(module
  (type $f (func (result i32)))
  (type $s (struct (field i32)))
  (type $a (array i8))
  (type $nf (func))
  (type $nk (cont $nf))
  (tag $e
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref))
  (tag $n (param i32))
  (tag $go)
  (tag $count)
  (elem declare func $seven $eight $count)
  (func $seven (type $f) (i32.const 7))
  (func $eight (type $f) (i32.const 8))
  (global $count (mut i32) (i32.const 0))
  (func $count (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $count-in-fiber (param $self fiberref) (call $count)
    (fiber.dismount $count (local.get $self)))
  (func (export "count") (result i32) (global.get $count))
  (global $extern (mut externref) (ref.null extern))
  (func (export "extern") (result externref) (global.get $extern))

  (func $exception (param i32) (result exnref)
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (throw $n (local.get 0)))
      (unreachable)))
  (func $in (param exnref) (result i32)
    (block $h (result i32)
      (try_table (catch $n $h) (throw_ref (local.get 0)))
      (unreachable)))

  ;; Traps unless all values arrived unchanged. Returns the sum of the values in the references.
  (func $check
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref)
    (result i32)
    (if (i32.ne (local.get 0) (i32.const 1)) (then (unreachable)))
    (if (i64.ne (local.get 1) (i64.const -2)) (then (unreachable)))
    (if (f32.ne (local.get 2) (f32.const 3.5)) (then (unreachable)))
    (if (f64.ne (local.get 3) (f64.const -4.5)) (then (unreachable)))
    (if (i32.eqz (i32x4.all_true
      (i32x4.eq (local.get 4) (v128.const i32x4 5 6 7 8)))) (then (unreachable)))
    (resume $nk (local.get 11))
    (block $count
      (fiber.mount $go (on $count $count) (local.get 12))
      (unreachable))
    (global.set $extern (local.get 13))
    (call_ref $f (ref.cast (ref $f) (local.get 5)))
    (call_ref $f (local.get 6))
    (array.get_u $a (ref.cast (ref $a) (local.get 7)) (i32.const 8))
    (struct.get $s 0 (local.get 8))
    (i31.get_u (local.get 9))
    (call $in (local.get 10))
    i32.add i32.add i32.add i32.add i32.add)

  ;; Receives the values as a closure, sends them with an event, receives others with an event, and
  ;; returns those.
  (func $body
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref)
    (param $self fiberref)
    (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref)
    (block $back
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
        fiberref externref)
      (fiber.dismount $e (on $e $back)
        (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
        (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
        (local.get 12) (local.get 13) (local.get $self))
      (unreachable)))
  ;; A fresh fiber starts with the values.
  (func $started
    (param $self fiberref)
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref)
    (result i32)
    (call $check
      (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6)
      (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11) (local.get 12)
      (local.get 13) (local.get 14)))

  (func $all (param $extern externref)
    (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      fiberref externref)
    (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5)
    (v128.const i32x4 5 6 7 8) (ref.func $seven) (ref.func $eight)
    (array.new $a (i32.const 9) (i32.const 9)) (struct.new $s (i32.const 10))
    (ref.i31 (i32.const 11)) (call $exception (i32.const 12))
    (cont.new $nk (ref.func $count))
    (fiber.new (on $go $count-in-fiber)) (local.get $extern))

  (func (export "every") (param externref externref) (result i32 i32 i32)
    (local $f fiberref)
    (local.set $f (fiber.new $e (on $go $body) (call $all (local.get 0))))
    (block $first
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
        fiberref externref)
      (fiber.mount $go (on $e $first) (local.get $f))
      (unreachable))
    (call $check)
    (block $second
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
        fiberref externref)
      (fiber.mount $e (on $e $second) (call $all (local.get 1)) (local.get $f))
      (unreachable))
    (call $check)
    (block $n (result i32)
      (fiber.mount $e (on $n $n) (call $all (local.get 1)) (fiber.new $n (on $e $started)))
      (unreachable))))

(assert_return (invoke "every" (ref.extern 1) (ref.extern 2))
  (i32.const 57) (i32.const 57) (i32.const 57))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "extern") (ref.extern 2))
