;; A generator on a first-class stack: it and its consumer switch to each other. Its last switch
;; frees it.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $next (param stackref))
  (event $yield (param i64 stackref))
  (event $end)

  (rout $generator (param $n i64)
    (block $first (result stackref)
      (try (stack.start) catch $next $first)
      (unreachable))
    (call $squares (local.get $n)))

  (func $squares (param $consumer stackref) (param $n i64)
    (local $i i64)
    (loop $more
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (block $next (result stackref)
            (try
              (stack.switch $yield
                (i64.mul (local.get $i) (local.get $i)) (local.get_clear $consumer))
              catch $next $next)
            (unreachable))
          (local.set_cleared $consumer)
          (br $more))))
    (stack.switch_drop $end (local.get_clear $consumer)))

  (func (export "run") (param $n i64) (result i64)
    (local $generator stackref) (local $sum i64)
    (local.set_cleared $generator
      (stack.extend $generator (local.get $n) (call $new-stack)))
    (block $ended
      (loop $more
        (block $yielded (result i64 stackref)
          (try
            (stack.switch $next (local.get_clear $generator))
            catch $yield $yielded
            catch $end $ended)
          (unreachable))
        (local.set_cleared $generator)
        (local.set $sum (i64.add (local.get $sum)))
        (br $more)))
    (local.get $sum)))
