;; A generator in the bag of stacks: it and its consumer switch to each other. After the last
;; element, the consumer gets null instead of the generator.
(module
  (rec
    (type $consumer (stack (param i64) (ref null $generator)))
    (type $generator (stack (ref null $consumer))))
  (type $new (stack (param i64) (ref null $consumer)))

  (func $squares (param $n i64) (param $consumer (ref null $consumer))
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (local.set $consumer
            (switch $consumer
              (i64.mul (local.get $i) (local.get $i)) (local.get $consumer)))
          (br $next))))
    (switch_retire $consumer (i64.const 0) (local.get $consumer)))

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $generator)) (local $sum i64)
    (local.set $generator
      (stack.bind $new $generator (local.get $n) (stack.new $new $squares)))
    (loop $more
      (switch $generator (local.get $generator))
      (local.set $generator)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $more (i32.eqz (ref.is_null (local.get $generator)))))
    (local.get $sum)))
