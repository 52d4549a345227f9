;; Asynchronous programs in the bag of stacks. `$await` switches to the event loop, which keeps the
;; stack under the number of its promise. The stack of the loop is in a global while a program runs.
(module
  (import "host" "fetch" (func $fetch (param i64) (result i32)))
  (import "host" "settled" (func $settled (result i32 i64)))
  (rec
    (type $program (stack (param i64) (ref null $loop)))
    (type $loop (stack (param i32) (ref null $program))))
  (table $waiting 3 (ref null $program))
  (global $loop (mut (ref null $loop)) (ref.null $loop))
  (global $open (mut i32) (i32.const 3))
  (global $n (mut i64) (i64.const 0))
  (global $total (mut i64) (i64.const 0))

  (func $program (param $number i64) (param $loop (ref null $loop))
    (local $i i64)
    (global.set $loop (local.get $loop))
    (loop $next
      (if (i64.lt_u (local.get $i) (global.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call $add (call $await (call $fetch (i64.mul (local.get $number) (local.get $i)))))
          (br $next))))
    (switch_retire $loop (i32.const 0) (global.get $loop)))
  (func $add (param $value i64)
    (global.set $total
      (i64.add (i64.mul (global.get $total) (i64.const 3)) (local.get $value))))
  (func $await (param $promise i32) (result i64)
    (switch $loop (local.get $promise) (global.get $loop))
    (global.set $loop))

  ;; Runs a program until it waits for a promise or ends.
  (func $continue (param $value i64) (param $program (ref null $program))
    (local $promise i32)
    (switch $program (local.get $value) (local.get $program))
    (local.set $program)
    (local.set $promise)
    (if (ref.is_null (local.get $program))
      (then (global.set $open (i32.sub (global.get $open) (i32.const 1))))
      (else (table.set $waiting (local.get $promise) (local.get $program)))))

  (func (export "run") (param $n i64) (result i64)
    (local $value i64) (local $promise i32)
    (global.set $n (local.get $n))
    (call $continue (i64.const 1) (stack.new $program $program))
    (call $continue (i64.const 2) (stack.new $program $program))
    (call $continue (i64.const 3) (stack.new $program $program))
    (loop $next
      (if (global.get $open)
        (then
          (call $settled)
          (local.set $value)
          (local.set $promise)
          (call $continue (local.get $value) (table.get $waiting (local.get $promise)))
          (br $next))))
    (global.get $total)))
