;; Asynchronous programs on first-class stacks. `$await` switches to the event loop, which keeps the
;; stack under the number of its promise. The stack of the loop is in a global while a program runs.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (import "host" "fetch" (func $fetch (param i64) (result i32)))
  (import "host" "settled" (func $settled (result i32 i64)))
  (event $value (param i64 stackref))
  (event $await (param i32 stackref))
  (event $end)
  (table $waiting 3 stackref)
  (global $loop (mut stackref) (ref.null stack))
  (global $open (mut i32) (i32.const 3))
  (global $n (mut i64) (i64.const 0))
  (global $total (mut i64) (i64.const 0))

  (rout $program
    (block $value (result i64 stackref)
      (try (stack.start) catch $value $value)
      (unreachable))
    (global.set_cleared $loop)
    (call $fetches))
  (func $fetches (param $number i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (global.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call $add (call $await (call $fetch (i64.mul (local.get $number) (local.get $i)))))
          (br $next))))
    (stack.switch_drop $end (global.get_clear $loop)))
  (func $add (param $value i64)
    (global.set $total
      (i64.add (i64.mul (global.get $total) (i64.const 3)) (local.get $value))))
  (func $await (param $promise i32) (result i64)
    (block $value (result i64 stackref)
      (try
        (stack.switch $await (local.get $promise) (global.get_clear $loop))
        catch $value $value)
      (unreachable))
    (global.set_cleared $loop))

  ;; Runs a program until it waits for a promise or ends.
  (func $continue (param $value i64) (param $program stackref)
    (block $end
      (block $awaits (result i32 stackref)
        (try
          (stack.switch $value (local.get $value) (local.get_clear $program))
          catch $await $awaits
          catch $end $end)
        (unreachable))
      (table.set_cleared $waiting)
      (return))
    (global.set $open (i32.sub (global.get $open) (i32.const 1))))

  (func (export "run") (param $n i64) (result i64)
    (local $value i64) (local $promise i32)
    (global.set $n (local.get $n))
    (call $continue (i64.const 1) (stack.extend $program (call $new-stack)))
    (call $continue (i64.const 2) (stack.extend $program (call $new-stack)))
    (call $continue (i64.const 3) (stack.extend $program (call $new-stack)))
    (loop $next
      (if (global.get $open)
        (then
          (call $settled)
          (local.set $value)
          (local.set $promise)
          (call $continue (local.get $value) (table.get_clear $waiting (local.get $promise)))
          (br $next))))
    (global.get $total)))
