;; A generator as a fiber: it dismounts itself with each element. Its end is an event as well.
(module
  (tag $next)
  (tag $yield (param i64))
  (tag $end)

  (func $squares (param $n i64) (param $me fiberref)
    (local $i i64)
    (loop $more
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (fiber.dismount $yield (on $next $more)
            (i64.mul (local.get $i) (local.get $i)) (local.get $me))
          (unreachable)))))

  (func (export "run") (param $n i64) (result i64)
    (local $generator fiberref) (local $sum i64)
    (local.set $generator (fiber.new $end (on $next $squares) (local.get $n)))
    (block $ended
      (loop $more
        (block $yielded (result i64)
          (fiber.mount $next (on $yield $yielded) (on $end $ended) (local.get $generator))
          (unreachable))
        (local.set $sum (i64.add (local.get $sum)))
        (br $more)))
    (local.get $sum)))
