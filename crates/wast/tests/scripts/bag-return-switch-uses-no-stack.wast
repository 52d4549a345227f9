;; Tens of thousands of `return_switch`es use constant stack, on the root and on a coroutine.

(module
  (type $c (stack (param i32) (ref null $c)))
  (tag $e (param i32) (param (ref null $c)))

  ;; Sends a number minus one back by leaving itself.
  (func $coroutine (param $n i32) (param $from (ref null $c))
    (return_switch $c $coroutine (i32.sub (local.get $n) (i32.const 1)) (local.get $from)))
  (func $root (param $n i32) (param $from (ref null $c)) (result i32)
    (if (i32.le_s (local.get $n) (i32.const 0)) (then (return (local.get $n))))
    (return_switch $c $root (i32.sub (local.get $n) (i32.const 1)) (local.get $from)))
  (func (export "both") (param i32) (result i32)
    (return_call $root (local.get 0) (stack.new $c $coroutine)))
  (func (export "both, called") (param i32) (result i32)
    (i32.add (i32.const 5) (call $root (local.get 0) (stack.new $c $coroutine))))

  ;; Only one of the two functions leaves.
  (func (export "the coroutine") (param $n i32) (result i32)
    (local $s (ref null $c))
    (local.set $s (stack.new $c $coroutine))
    (loop $next
      (switch $c (local.get $n) (local.get $s))
      (local.set $s)
      (local.tee $n)
      (br_if $next (i32.gt_s (i32.const 0))))
    (local.get $n))
  (func $obliging (param $n i32) (param $from (ref null $c))
    (loop $next
      (switch $c (local.get $n) (local.get $from))
      (local.set $from)
      (local.set $n)
      (br $next)))
  (func (export "the root") (param i32) (result i32)
    (return_call $root (local.get 0) (stack.new $c $obliging)))

  ;; Two functions with different frames alternate.
  (func $wide (param $n i32) (param $from (ref null $c))
    (local $v v128) (local $w v128) (local $x v128)
    (local.set $v (i32x4.splat (local.get $n)))
    (local.set $w (i32x4.add (local.get $v) (local.get $v)))
    (return_switch $c $narrow
      (i32.sub (i32x4.extract_lane 1 (local.get $w)) (i32.add (local.get $n) (i32.const 1)))
      (local.get $from)))
  (func $narrow (param $n i32) (param $from (ref null $c))
    (return_switch $c $wide (i32.sub (local.get $n) (i32.const 1)) (local.get $from)))
  (func (export "two functions") (param i32) (result i32)
    (return_call $root (local.get 0) (stack.new $c $wide)))

  ;; With tail calls and exceptions in between: the catching function calls itself.
  (func $thrower (param $n i32) (param $from (ref null $c))
    (return_switch_throw $c $e $thrower
      (i32.sub (local.get $n) (i32.const 1)) (local.get $from)))
  (func $catch (param $n i32) (param $s (ref null $c)) (result i32)
    (loop $next
      (block $h (result i32 (ref null $c))
        (try_table (catch $e $h)
          (switch $c (local.get $n) (local.get $s))
          (unreachable))
        (unreachable))
      (local.set $s)
      (local.tee $n)
      (br_if $next (i32.gt_s (i32.const 0))))
    (local.get $n))
  (func (export "thrown") (param i32) (result i32)
    (return_call $catch (local.get 0) (stack.new $c $thrower))))

(assert_return (invoke "both" (i32.const 60000)) (i32.const 0))
(assert_return (invoke "both" (i32.const 30001)) (i32.const -1))
(assert_return (invoke "both, called" (i32.const 30000)) (i32.const 5))
(assert_return (invoke "the coroutine" (i32.const 30000)) (i32.const 0))
(assert_return (invoke "the root" (i32.const 30000)) (i32.const 0))
(assert_return (invoke "two functions" (i32.const 30000)) (i32.const 0))
(assert_return (invoke "thrown" (i32.const 10000)) (i32.const 0))
