;; Cancellation with typed continuations: `resume_throw` throws an exception where the computation
;; waits, and each function on its stack cleans up.
(module
  (type $body (func))
  (type $work (cont $body))
  (tag $wait)
  (tag $cancel)
  (global $cleaned (mut i64) (i64.const 0))

  (func $clean (param $by i64)
    (global.set $cleaned (i64.add (global.get $cleaned) (local.get $by))))
  (func $inner
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever (suspend $wait) (br $forever)))
      (unreachable))
    (call $clean (i64.const 2))
    (throw_ref))
  (func $outer
    (block $cancelled
      (try_table (catch $cancel $cancelled) (call $inner)))
    (call $clean (i64.const 1)))
  (elem declare func $outer)

  (func (export "run") (param $n i64) (result i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (block $waits (result (ref $work))
            (resume $work (on $wait $waits) (cont.new $work (ref.func $outer)))
            (unreachable))
          (resume_throw $work $cancel)
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (global.get $cleaned)))
