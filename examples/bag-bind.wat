;; The array generator of bag-generator.wat with `stack.bind`, which binds the
;; arguments to the new stack without a switch to it. The result is a stack of
;; the same type as any generator's.
;;
;;   $ ropewalk run --invoke sum examples/bag-bind.wat 0 10
;;   39
;;   $ ropewalk run --invoke sum examples/bag-bind.wat 2 5
;;   10
;;
;; Two generators at a time: the sum of the products of two halves of the array.
;;
;;   $ ropewalk run --invoke product examples/bag-bind.wat 0 5 5
;;   73
;;
;; A consumer that needs no more elements drops the generator, and its stack is
;; freed. The number of elements until their sum is at least a limit:
;;
;;   $ ropewalk run --invoke enough examples/bag-bind.wat 12
;;   5

(module
  (rec
    (type $to-consumer (stack (param $value i32) (ref null $to-generator)))
    (type $to-generator (stack (ref $to-consumer))))
  ;; Without the first three parameters this is `$to-generator`.
  (type $new-array-generator
    (stack (param $from i32) (param $to i32) (param $elements i32) (ref $to-consumer)))

  (memory 1)
  (data (i32.const 64)
    "\03\00\00\00" "\01\00\00\00" "\04\00\00\00" "\01\00\00\00" "\05\00\00\00"
    "\09\00\00\00" "\02\00\00\00" "\06\00\00\00" "\05\00\00\00" "\03\00\00\00")

  (func $array-generator
    (param $from i32) (param $to i32) (param $elements i32) (param $consumer (ref $to-consumer))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $consumer
          (switch $to-consumer
            (i32.load
              (i32.add (local.get $elements) (i32.mul (local.get $from) (i32.const 4))))
            (local.get $consumer)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    (switch_retire $to-consumer (i32.const 0) (local.get $consumer)))

  (func $new (param $from i32) (param $to i32) (result (ref $to-generator))
    (stack.bind $new-array-generator $to-generator
      (local.get $from) (local.get $to) (i32.const 64)
      (stack.new $new-array-generator $array-generator)))

  (func (export "sum") (param $from i32) (param $to i32) (result i32)
    (local $generator (ref null $to-generator))
    (local $total i32)
    (local.set $generator (call $new (local.get $from) (local.get $to)))
    (block $end
      (loop $next
        (switch $to-generator (local.get $generator))
        (br_on_null $end)
        (local.set $generator)
        (local.set $total (i32.add (local.get $total)))
        (br $next)))
    (local.get $total))

  (func (export "product") (param $a i32) (param $b i32) (param $count i32) (result i32)
    (local $as (ref null $to-generator))
    (local $bs (ref null $to-generator))
    (local $x i32)
    (local $total i32)
    (local.set $as (call $new (local.get $a) (i32.add (local.get $a) (local.get $count))))
    (local.set $bs (call $new (local.get $b) (i32.add (local.get $b) (local.get $count))))
    (block $end
      (loop $next
        (switch $to-generator (local.get $as))
        (br_on_null $end)
        (local.set $as)
        (local.set $x)
        (switch $to-generator (local.get $bs))
        (br_on_null $end)
        (local.set $bs)
        (local.set $total (i32.add (i32.mul (local.get $x)) (local.get $total)))
        (br $next)))
    (local.get $total))

  (func (export "enough") (param $wanted i32) (result i32)
    (local $generator (ref null $to-generator))
    (local $total i32)
    (local $count i32)
    (local.set $generator (call $new (i32.const 0) (i32.const 10)))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $total) (local.get $wanted)))
        (switch $to-generator (local.get $generator))
        (br_on_null $end)
        (local.set $generator)
        (local.set $total (i32.add (local.get $total)))
        (local.set $count (i32.add (local.get $count) (i32.const 1)))
        (br $next)))
    (local.get $count)))
