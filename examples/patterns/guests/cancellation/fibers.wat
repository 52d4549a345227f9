;; Cancellation with fibers: the computation has a clause for the event `$cancel`, which throws the
;; exception that cleans up.
(module
  (tag $go)
  (tag $cancel)
  (tag $wait)
  (tag $end)
  (tag $cancelled)
  (global $cleaned (mut i64) (i64.const 0))

  (func $clean (param $by i64)
    (global.set $cleaned (i64.add (global.get $cleaned) (local.get $by))))
  (func $wait (param $me fiberref)
    (block $go
      (block $cancel
        (fiber.dismount $wait (on $go $go) (on $cancel $cancel) (local.get $me))
        (unreachable))
      (throw $cancelled)))
  (func $inner (param $me fiberref)
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever (call $wait (local.get $me)) (br $forever)))
      (unreachable))
    (call $clean (i64.const 2))
    (throw_ref))
  (func $outer (param $me fiberref)
    (block $cancelled
      (try_table (catch $cancelled $cancelled) (call $inner (local.get $me))))
    (call $clean (i64.const 1)))

  (func (export "run") (param $n i64) (result i64)
    (local $work fiberref)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (local.set $work (fiber.new $end (on $go $outer)))
          (block $waits
            (fiber.mount $go (on $wait $waits) (local.get $work))
            (unreachable))
          (block $ended
            (fiber.mount $cancel (on $end $ended) (local.get $work))
            (unreachable))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (global.get $cleaned)))
