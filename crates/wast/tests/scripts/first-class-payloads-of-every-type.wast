;; Events, functions of `stack.switch_call`, and answers carry values of every type.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (type $s (struct (field i32)))
  (type $f (func (result i32)))
  (event $e
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref
      stackref))
  (event $sent (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref
    externref))
  (call_tag $through
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
    (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref))
  (tag $x (param i32))
  (elem declare func $seven)
  (func $seven (type $f) (i32.const 7))
  (func $exception (result exnref)
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (throw $x (i32.const 12)))
      (unreachable)))
  (func $in (param exnref) (result i32)
    (block $h (result i32)
      (try_table (catch $x $h) (throw_ref (local.get 0)))
      (unreachable)))
  (func $all (param externref)
    (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
    (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
    (ref.func $seven) (ref.func $seven) (ref.i31 (i32.const 9)) (struct.new $s (i32.const 10))
    (call $exception) (fiber.new) (local.get 0))
  (func $check
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
    (result i32)
    (if (i32.ne (local.get 0) (i32.const 1)) (then (unreachable)))
    (if (i64.ne (local.get 1) (i64.const -2)) (then (unreachable)))
    (if (f32.ne (local.get 2) (f32.const 3.5)) (then (unreachable)))
    (if (f64.ne (local.get 3) (f64.const -4.5)) (then (unreachable)))
    (if (i32.eqz (i32x4.all_true
      (i32x4.eq (local.get 4) (v128.const i32x4 5 6 7 8)))) (then (unreachable)))
    (if (ref.is_null (local.get 11)) (then (unreachable)))
    (fiber.release (local.get 10))
    (call_ref $f (ref.cast (ref $f) (local.get 5)))
    (call_ref $f (local.get 6))
    (i31.get_u (ref.cast (ref i31) (local.get 7)))
    (struct.get $s 0 (local.get 8))
    (call $in (local.get 9))
    i32.add i32.add i32.add i32.add)

  ;; `stack.switch` carries the values to the stack, and `stack.switch_drop` carries them back.
  (rout $returns
    (block $e
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref
        stackref)
      (try (stack.start) catch $e $e)
      (unreachable))
    (stack.switch_drop $sent))
  (func (export "events") (param externref) (result i32)
    (block $sent
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
      (try
        (stack.switch $e (call $all (local.get 0)) (stack.extend $returns (call $new)))
        catch $sent $sent)
      (unreachable))
    (call $check))
  ;; With `stack.switch_call`, the results become the event's payload.
  (func $gives
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref stackref)
    (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
    (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11))
  (func $calls (param externref) (param $main stackref)
    (stack.switch_call $gives $sent (call $all (local.get 0)) (local.get_clear $main)))
  (func (export "switch_call") (param externref) (result i32)
    (block $sent
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) exnref fiberref externref)
      (try (stack.switch_call $calls (local.get 0) (call $new)) catch $sent $sent)
      (unreachable))
    (call $check))
  (func (export "answers") (param externref) (result i32)
    (answer $through (result i32) within
      (call $check (call_stack $through (call $all (local.get 0)))))))

(assert_return (invoke "events" (ref.extern 1)) (i32.const 45))
(assert_return (invoke "switch_call" (ref.extern 1)) (i32.const 45))
(assert_return (invoke "answers" (ref.extern 1)) (i32.const 45))
