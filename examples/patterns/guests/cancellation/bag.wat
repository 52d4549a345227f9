;; Cancellation in the bag of stacks: `switch_throw` throws an exception where the computation
;; waits, and each function on its stack cleans up. The exception brings the stack of the canceller.
(module
  (rec
    (type $work (stack (ref null $main)))
    (type $main (stack (ref null $work))))
  (tag $cancel (param (ref null $main)))
  (global $cleaned (mut i64) (i64.const 0))

  (func $clean (param $by i64)
    (global.set $cleaned (i64.add (global.get $cleaned) (local.get $by))))
  (func $inner (param $main (ref null $main))
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever
          (local.set $main (switch $main (local.get $main)))
          (br $forever)))
      (unreachable))
    (call $clean (i64.const 2))
    (throw_ref))
  (func $outer (param $main (ref null $main))
    (block $cancelled (result (ref null $main))
      (try_table (catch $cancel $cancelled) (call $inner (local.get $main)))
      (unreachable))
    (local.set $main)
    (call $clean (i64.const 1))
    (switch_retire $main (local.get $main)))

  (func (export "run") (param $n i64) (result i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (drop (switch_throw $work $cancel (switch $work (stack.new $work $outer))))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (global.get $cleaned)))
