;; Clones of a first-class stack that is suspended in DEPTH frames and a few more; each clone is
;; dropped at once.
;; One operation is one clone.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $go (param stackref))
  (event $waits (param stackref))
  (global $back (mut stackref) (ref.null stack))
  (global $first (mut stackref) (ref.null stack))

  (func $down (param $n i64) (result i64)
    (if (i64.eqz (local.get $n))
      (then (call $wait) (return (i64.const 0))))
    (i64.add (local.get $n) (call $down (i64.sub (local.get $n) (i64.const 1)))))

  (func $wait
    (block $gone-on (result stackref)
      (try (stack.switch $waits (global.get_clear $back)) catch $go $gone-on)
      (unreachable))
    (global.set_cleared $back))

  (rout $body
    (block $begun (result stackref)
      (try (stack.start) catch $go $begun)
      (unreachable))
    (global.set_cleared $back)
    (drop (call $down (i64.const DEPTH))))

  (func (export "run") (param $n i64) (result i64)
    (local $sum i64)
    (block $waits (result stackref)
      (try (stack.switch $go (stack.extend $body (call $new-stack))) catch $waits $waits)
      (unreachable))
    (global.set_cleared $first)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (stack.clone (global.get_clear $first))
        (drop)
        (global.set_cleared $first)
        (local.set $sum (i64.add (local.get $sum) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
