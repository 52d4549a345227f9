;; `return_switch` leaves the current function and switches.
;; When control returns, another function runs in its place.

(module
  (type $c (stack (param i32) (ref null $c)))
  (global $s (mut (ref null $c)) (ref.null $c))
  (func $doubles (param $n i32) (param $from (ref null $c))
    (loop $next
      (switch $c (i32.mul (local.get $n) (i32.const 2)) (local.get $from))
      (local.set $from)
      (local.set $n)
      (br $next)))

  (func $then (param $n i32) (param $from (ref null $c)) (result i32)
    (global.set $s (local.get $from))
    (i32.add (local.get $n) (i32.const 1)))
  (func $folded (param i32) (result i32)
    (return_switch $c $then (local.get 0) (stack.new $c $doubles)))
  (func $plain (param i32) (result i32)
    local.get 0
    stack.new $c $doubles
    return_switch $c $then)
  ;; The caller receives the result of the replacing function.
  (func (export "folded") (result i32)
    (i32.add (call $folded (i32.const 10)) (i32.const 100)))
  (func (export "plain") (result i32)
    (i32.add (call $plain (i32.const 20)) (i32.const 100)))
  ;; The same when the host is the caller.
  (func (export "root") (param i32) (result i32)
    (return_switch $c $then (local.get 0) (stack.new $c $doubles)))
  ;; The stack that was suspended first can be continued.
  (func (export "continue") (param i32) (result i32)
    (return_switch $c $then (local.get 0) (global.get $s)))
  ;; Code after the instruction is unreachable.
  (func (export "polymorphic") (param i32) (result i32)
    (block $b (result i64)
      (return_switch $c $then (local.get 0) (stack.new $c $doubles)))
    (drop)
    (i32.const -1))
  ;; A retiring stack passes null.
  (func $retires (param i32) (param (ref null $c))
    (switch_retire $c (local.get 0) (local.get 1)))
  (func $is-null (param i32) (param (ref null $c)) (result i32)
    (i32.add (local.get 0) (ref.is_null (local.get 1))))
  (func (export "null") (result i32)
    (return_switch $c $is-null (i32.const 4) (stack.new $c $retires)))

  ;; The function of a coroutine is replaced by another.
  (func $first (param i32) (param (ref null $c))
    (return_switch $c $second (i32.add (local.get 0) (i32.const 1)) (local.get 1)))
  (func $second (param i32) (param (ref null $c))
    (return_switch $c $third (i32.add (local.get 0) (i32.const 10)) (local.get 1)))
  (func $third (param i32) (param (ref null $c))
    (switch_retire $c (i32.add (local.get 0) (i32.const 100)) (local.get 1)))
  (func (export "three in one place") (result i32 i32)
    (local $n i32) (local $s (ref null $c))
    (switch $c (i32.const 0) (stack.new $c $first))
    (local.set $s)
    (switch $c (local.get $s))
    (local.set $s)
    (switch $c (local.get $s))
    (ref.is_null))

  ;; The frame and its handlers are gone, so an exception of the replacing function reaches the
  ;; caller.
  (tag $x (param i32))
  (func $throws (param i32) (param (ref null $c)) (result i32) (throw $x (local.get 0)))
  (func $handler-inside (param i32) (result i32)
    (block $h (result i32)
      (try_table (catch $x $h)
        (return_switch $c $throws (local.get 0) (stack.new $c $doubles)))
      (unreachable))
    (drop)
    (i32.const -1))
  (func (export "handler outside") (result i32)
    (block $h (result i32)
      (try_table (catch $x $h) (drop (call $handler-inside (i32.const 7))))
      (i32.const -2)))
  (func (export "no handler outside") (result i32)
    (call $handler-inside (i32.const 7)))

  ;; The replacing function receives other values than the leaving one, and more or fewer of them.
  (rec
    (type $many (stack
      (param i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128) (ref null $few)))
    (type $few (stack (ref null $many))))
  (func $sends-many (param $from (ref null $many))
    (switch_retire $many
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i32x4 5 0 0 0)
      (i32.const 6) (i64.const 7) (f32.const 8) (f64.const 9) (v128.const i32x4 10 0 0 0)
      (i32.const 11) (i64.const 12) (f32.const 13) (f64.const 14) (v128.const i32x4 15 0 0 0)
      (local.get $from)))
  (func $takes-many
    (param i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 (ref null $few))
    (result i64 v128 f32 i32)
    (i64.add (local.get 1) (i64.add (local.get 6) (local.get 11)))
    (i32x4.add (local.get 4) (i32x4.add (local.get 9) (local.get 14)))
    (f32.add (local.get 2) (f32.add (local.get 7) (local.get 12)))
    (i32.add (local.get 0) (i32.add (local.get 5) (local.get 10))))
  (func $few-to-many (result i64 v128 f32 i32)
    (return_switch $few $takes-many (stack.new $few $sends-many)))
  (func (export "many values") (result i64 v128 f32 i32) (call $few-to-many))
  (func $takes-few (param (ref null $many)) (result i32) (ref.is_null (local.get 0)))
  (func $sends-few
    (param i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 (ref null $few))
    (switch_retire $few (local.get 15)))
  (func $many-to-few
    (param i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128) (result i32)
    (return_switch $many $takes-few
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
      (local.get 5) (local.get 6) (local.get 7) (local.get 8) (local.get 9)
      (local.get 10) (local.get 11) (local.get 12) (local.get 13) (local.get 14)
      (stack.new $many $sends-few)))
  (func (export "few values") (result i32 i32)
    (i32.const 77)
    (call $many-to-few
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i32x4 5 0 0 0)
      (i32.const 6) (i64.const 7) (f32.const 8) (f64.const 9) (v128.const i32x4 10 0 0 0)
      (i32.const 11) (i64.const 12) (f32.const 13) (f64.const 14) (v128.const i32x4 15 0 0 0)))

  ;; The replacing function may have supertypes as parameters and subtypes as results.
  (type $a (sub (struct (field i32))))
  (type $b (sub $a (struct (field i32) (field i32))))
  (type $takes-b (stack (param (ref $b)) (ref null $c)))
  (type $start (stack (ref null $takes-b)))
  (func $sends-b (param (ref null $takes-b))
    (switch_retire $takes-b (struct.new $b (i32.const 8) (i32.const 9)) (local.get 0)))
  (func $takes-a (param (ref null $a)) (param (ref null $c)) (result (ref $b))
    (ref.cast (ref $b) (local.get 0)))
  (func $gives-a (result (ref null $a))
    (return_switch $start $takes-a (stack.new $start $sends-b)))
  (func (export "subtypes") (result i32) (struct.get $a 0 (call $gives-a))))

(assert_return (invoke "folded") (i32.const 121))
(assert_return (invoke "plain") (i32.const 141))
(assert_return (invoke "root" (i32.const 3)) (i32.const 7))
(assert_return (invoke "continue" (i32.const 4)) (i32.const 9))
(assert_return (invoke "continue" (i32.const 5)) (i32.const 11))
(assert_return (invoke "polymorphic" (i32.const 6)) (i32.const 13))
(assert_return (invoke "null") (i32.const 5))
(assert_return (invoke "three in one place") (i32.const 111) (i32.const 1))
(assert_return (invoke "handler outside") (i32.const 14))
(assert_exception (invoke "no handler outside"))
(assert_return (invoke "many values")
  (i64.const 21) (v128.const i32x4 30 0 0 0) (f32.const 24) (i32.const 18))
(assert_return (invoke "few values") (i32.const 77) (i32.const 1))
(assert_return (invoke "subtypes") (i32.const 8))
