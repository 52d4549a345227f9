;; A generator with typed continuations: it suspends to its consumer with each element.
(module
  (type $squares (func (param i64)))
  (type $new (cont $squares))
  (type $body (func))
  (type $generator (cont $body))
  (tag $yield (param i64))

  (func $squares (param $n i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (suspend $yield (i64.mul (local.get $i) (local.get $i)))
          (br $next)))))
  (elem declare func $squares)

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $generator)) (local $sum i64)
    (local.set $generator
      (cont.bind $new $generator (local.get $n) (cont.new $new (ref.func $squares))))
    (loop $more
      (block $yielded (result i64 (ref $generator))
        (resume $generator (on $yield $yielded) (local.get $generator))
        (return (local.get $sum)))
      (local.set $generator)
      (local.set $sum (i64.add (local.get $sum)))
      (br $more))
    (unreachable)))
