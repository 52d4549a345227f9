;; A generator, and a loop that consumes its values: the sum of the first
;; squares.
;;
;;   $ ropewalk run --invoke sum examples/continuations-squares.wat 10
;;   385

(module
  (type $body (func))
  (type $generator (cont $body))
  (tag $yield (param i32))

  (func $squares                                  ;; yields 1, 4, 9, ... forever
    (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (suspend $yield (i32.mul (local.get $i) (local.get $i)))
      (br $next)))
  (elem declare func $squares)

  (func (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $generator)) (local $sum i32)
    (local.set $generator (cont.new $generator (ref.func $squares)))
    (loop $more
      (block $yielded (result i32 (ref $generator))
        (resume $generator (on $yield $yielded) (local.get $generator))
        (unreachable))                            ;; it never returns
      (local.set $generator)                      ;; the suspended generator
      (local.set $sum (i32.add (local.get $sum)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $more (local.get $count)))
    (local.get $sum)))                            ;; the collector frees the generator
