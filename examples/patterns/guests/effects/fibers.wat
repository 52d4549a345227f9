;; Nested effect handlers with fibers. The program has a reference to the fiber that each handler
;; mounts: to dismount its own goes to the inner handler, and to dismount the one around it goes to
;; the outer handler.
(module
  (tag $value (param i64))
  (tag $go)
  (tag $get)
  (tag $log (param i64))
  (tag $end)

  (func $program (param $logs fiberref) (param $gets fiberref) (param $n i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (block $value (result i64)
            (fiber.dismount $get (on $value $value) (local.get $gets))
            (unreachable))
          (i64.mul (local.get $i))
          (fiber.dismount $log (on $go $next) (local.get $logs))
          (unreachable)))))

  (func $handle-get (param $me fiberref) (param $value i64)
    (local $program fiberref) (local $number i64)
    (local.set $program (fiber.new $end (on $value $program) (local.get $me)))
    (block $end
      (loop $next
        (block $asked
          (fiber.mount $value (on $get $asked) (on $end $end)
            (local.get $value) (local.get $program))
          (unreachable))
        (local.set $value (local.tee $number (i64.add (local.get $number) (i64.const 1))))
        (br $next))))

  (func (export "run") (param $n i64) (result i64)
    (local $rest fiberref) (local $total i64)
    (local.set $rest (fiber.new $end (on $value $handle-get)))
    (block $end
      (block $first (result i64)
        (fiber.mount $value (on $log $first) (on $end $end) (local.get $n) (local.get $rest))
        (unreachable))
      (loop $next (param i64)
        (local.set $total (i64.add (local.get $total)))
        (block $logged (result i64)
          (fiber.mount $go (on $log $logged) (on $end $end) (local.get $rest))
          (unreachable))
        (br $next)))
    (local.get $total)))
