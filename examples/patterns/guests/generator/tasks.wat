;; A generator as a task: it suspends itself with each element. A second value tells whether it has
;; ended.
(module
  (type $generator (task (result i64 i32)))

  (func $squares (param $me (ref null $generator)) (param $n i64) (result i64 i32)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (task.suspend $generator (local.get $me)
            (i64.mul (local.get $i) (local.get $i)) (i32.const 0))
          (br $next))))
    (i64.const 0)
    (i32.const 1))

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $generator)) (local $ended i32) (local $sum i64)
    (local.set $generator (task.new $generator $squares (local.get $n)))
    (loop $more
      (task.resume $generator (local.get $generator))
      (local.set $ended)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $more (i32.eqz (local.get $ended))))
    (local.get $sum)))
