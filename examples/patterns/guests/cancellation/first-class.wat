;; Cancellation on first-class stacks: an event is an exception at the target, so `$cancel` unwinds
;; the computation, and each function on its stack cleans up. The event brings the stack of the
;; canceller.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $go (param stackref))
  (event $cancel (param stackref))
  (event $wait (param stackref))
  (event $end)
  (global $cleaned (mut i64) (i64.const 0))

  (func $clean (param $by i64)
    (global.set $cleaned (i64.add (global.get $cleaned) (local.get $by))))
  (func $inner (param $main stackref)
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever
          (block $go (result stackref)
            (try (stack.switch $wait (local.get_clear $main)) catch $go $go)
            (unreachable))
          (local.set_cleared $main)
          (br $forever)))
      (unreachable))
    (call $clean (i64.const 2))
    (throw_ref))
  (func $outer (param $main stackref)
    (block $cancelled (result stackref)
      (try_table (catch $cancel $cancelled) (call $inner (local.get_clear $main)))
      (unreachable))
    (local.set_cleared $main)
    (call $clean (i64.const 1))
    (stack.switch_drop $end (local.get_clear $main)))

  (func (export "run") (param $n i64) (result i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (block $waits (result stackref)
            (try (stack.switch_call $outer (call $new-stack)) catch $wait $waits)
            (unreachable))
          (call $cancel)
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (global.get $cleaned))
  (func $cancel (param $work stackref)
    (block $ended
      (try (stack.switch $cancel (local.get_clear $work)) catch $end $ended)
      (unreachable))))
