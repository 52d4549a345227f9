;; Symmetric coroutines on first-class stacks. They do not know who has started them, so the stack
;; of `run` is in a global.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $pass (param i64 i64 stackref))
  (event $done (param i64))
  (global $main (mut stackref) (ref.null stack))

  ;; Adds its step to the value and passes it on, until no passes are left.
  (func $coroutine (param $value i64) (param $left i64) (param $other stackref) (param $step i64)
    (loop $next
      (if (i64.eqz (local.get $left))
        (then (stack.switch_drop $done (local.get $value) (global.get_clear $main))))
      (block $passed (result i64 i64 stackref)
        (try
          (stack.switch $pass
            (i64.add (local.get $value) (local.get $step))
            (i64.sub (local.get $left) (i64.const 1))
            (local.get_clear $other))
          catch $pass $passed)
        (unreachable))
      (local.set_cleared $other)
      (local.set $left)
      (local.set $value)
      (br $next)))

  (rout $second
    (block $passed (result i64 i64 stackref)
      (try (stack.start) catch $pass $passed)
      (unreachable))
    (call $coroutine (i64.const 2)))

  (func $first (param $n i64) (param $main stackref)
    (global.set_cleared $main (local.get_clear $main))
    (call $coroutine (i64.const 0) (local.get $n)
      (stack.extend $second (call $new-stack)) (i64.const 1)))

  (func (export "run") (param $n i64) (result i64)
    (block $done (result i64)
      (try (stack.switch_call $first (local.get $n) (call $new-stack)) catch $done $done)
      (unreachable))))
