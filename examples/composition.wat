;; Two libraries in one program that know nothing of each other: threads with their own scheduler,
;; as typed continuations, and generators, as tasks. Each thread adds up the elements of a generator,
;; and the generator pauses the thread before each element. So the library of threads suspends
;; through the library of generators, and continues the generator where it was.
;;
;; Two threads with generators of 1, 2, .. n. The order in which they got their elements, as digits
;; of a number, and the sum of all elements:
;;
;;   $ ropewalk run --preload threads=examples/libraries/threads.wat --preload generators=examples/libraries/generators.wat --invoke run examples/composition.wat 4
;;   12121212
;;   20

(module
  (type $generator (task (result i32 i32)))
  (type $elements (func (param (ref null $generator) i32)))
  (type $thread (func (param i32)))
  (import "threads" "spawn" (func $spawn (param (ref $thread) i32)))
  (import "threads" "pause" (func $pause))
  (import "threads" "run" (func $run))
  (import "generators" "new" (func $new (param (ref $elements) i32) (result (ref $generator))))
  (import "generators" "next" (func $next (param (ref null $generator)) (result i32 i32)))
  (import "generators" "yield" (func $yield (param (ref null $generator) i32)))
  (global $n (mut i32) (i32.const 0))
  (global $order (mut i32) (i32.const 0))
  (global $sum (mut i32) (i32.const 0))
  (elem declare func $count $add)

  (func $count (param $generator (ref null $generator)) (param $n i32)
    (local $i i32)
    (loop $more
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (call $pause)
          (call $yield (local.get $generator) (local.get $i))
          (br $more)))))

  (func $add (param $number i32)
    (local $generator (ref null $generator)) (local $element i32) (local $ended i32)
    (local.set $generator (call $new (ref.func $count) (global.get $n)))
    (loop $more
      (call $next (local.get $generator))
      (local.set $ended)
      (local.set $element)
      (if (i32.eqz (local.get $ended))
        (then
          (global.set $sum (i32.add (global.get $sum) (local.get $element)))
          (global.set $order
            (i32.add (i32.mul (global.get $order) (i32.const 10)) (local.get $number)))
          (br $more)))))

  (func (export "run") (param $n i32) (result i32 i32)
    (global.set $n (local.get $n))
    (call $spawn (ref.func $add) (i32.const 1))
    (call $spawn (ref.func $add) (i32.const 2))
    (call $run)
    (global.get $order)
    (global.get $sum)))
