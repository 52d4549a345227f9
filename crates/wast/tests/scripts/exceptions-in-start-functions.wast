;; A start function that throws fails the instantiation with the exception.
;; Its earlier effects remain.

(module $counter
  (tag $e (export "e") (param i32))
  (global $count (mut i32) (i32.const 0))
  (func (export "count") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (global.get $count)))
(register "counter" $counter)

(assert_exception
  (module
    (import "counter" "e" (tag $e (param i32)))
    (import "counter" "count" (func $count (result i32)))
    (func $start (throw $e (call $count)))
    (start $start)))
(assert_return (invoke $counter "count") (i32.const 2))

(assert_exception
  (module
    (import "counter" "count" (func $count (result i32)))
    (tag $own)
    (func $start (drop (call $count)) (throw $own))
    (start $start)))
(assert_return (invoke $counter "count") (i32.const 4))

;; If the start function catches the exception, the instantiation succeeds.
(module
  (import "counter" "e" (tag $e (param i32)))
  (import "counter" "count" (func $count (result i32)))
  (global $caught (mut i32) (i32.const 0))
  (func $start
    (global.set $caught
      (block $h (result i32)
        (try_table (catch $e $h) (throw $e (call $count)))
        (unreachable))))
  (start $start)
  (func (export "caught") (result i32) (global.get $caught)))
(assert_return (invoke "caught") (i32.const 5))
