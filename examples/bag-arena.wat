;; Fibers and arenas made of bare stacks. A fiber is a structure that keeps its
;; stack while it waits; an arena runs its fibers in turn. A generator passes each
;; fiber the elements of a part of the array 1, 2, .. 100, one at a time. The fiber
;; adds them up, and pauses after each.
;;
;; A race: fibers add up the first ten elements, the first twenty, and so on. The
;; arena ends when the first fiber ends, and cancels the others.
;; The total of that fiber, the number of canceled fibers, and the sum of their
;; totals:
;;
;;   $ ropewalk run --invoke race examples/bag-arena.wat 5
;;   55
;;   4
;;   220
;;
;; The other kind of arena ends when all fibers have ended; each adds its share.
;;
;;   $ ropewalk run --invoke share examples/bag-arena.wat 4
;;   5050

(module
  ;; ---- the generator, as in bag-bind.wat

  (rec
    (type $to-consumer (stack (param $value i32) (ref null $to-generator)))
    (type $to-generator (stack (ref $to-consumer))))
  (type $new-array-generator
    (stack (param $from i32) (param $to i32) (ref $to-consumer)))
  (memory 1)
  (func $fill
    (local $i i32)
    (loop $next
      (i32.store (i32.mul (local.get $i) (i32.const 4))
        (i32.add (local.get $i) (i32.const 1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 100)))))
  (start $fill)
  (func $array-generator
    (param $from i32) (param $to i32) (param $consumer (ref $to-consumer))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $consumer
          (switch $to-consumer
            (i32.load (i32.mul (local.get $from) (i32.const 4)))
            (local.get $consumer)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    (switch_retire $to-consumer (i32.const 0) (local.get $consumer)))

  ;; ---- the messages between fibers and arenas

  (global $resume i32 (i32.const 0))
  (global $cancel i32 (i32.const 1))
  (global $pause i32 (i32.const 0))
  (global $terminate i32 (i32.const 1))
  (rec
    (type $to-fiber (stack (param $command i32) (ref $to-arena)))
    (type $to-arena (stack (param $event i32) (param $total i32) (ref null $to-fiber))))

  ;; While a fiber waits, its structure holds its stack. While the arena waits, the
  ;; arena's structure holds the arena's stack. The fiber stores it there, since a
  ;; running stack has no reference to itself.
  (type $arena (struct (field $stack (mut (ref null $to-arena)))))
  (type $fiber (struct
    (field $stack (mut (ref null $to-fiber)))
    (field $arena (ref $arena))))
  (type $fibers (array (mut (ref null $fiber))))

  ;; ---- the fibers

  ;; Lets the others run; returns the next command of the arena.
  (func $pause (param $fiber (ref $fiber)) (param $total i32) (result i32)
    (local $arena (ref null $to-arena))
    (switch $to-arena (global.get $pause) (local.get $total)
      (struct.get $arena $stack (struct.get $fiber $arena (local.get $fiber))))
    (local.set $arena)
    (struct.set $arena $stack (struct.get $fiber $arena (local.get $fiber)) (local.get $arena)))

  (type $new-adder
    (stack (param (ref $fiber) i32 i32) (param $command i32) (ref $to-arena)))
  (func $adder
    (param $fiber (ref $fiber)) (param $from i32) (param $to i32)
    (param $command i32) (param $arena (ref $to-arena))
    (local $total i32)
    (local $generator (ref null $to-generator))
    (struct.set $arena $stack (struct.get $fiber $arena (local.get $fiber)) (local.get $arena))
    (local.set $generator
      (stack.bind $new-array-generator $to-generator (local.get $from) (local.get $to)
        (stack.new $new-array-generator $array-generator)))
    (block $end
      (loop $next
        (br_if $end (i32.eq (local.get $command) (global.get $cancel)))
        (switch $to-generator (local.get $generator))
        (br_on_null $end)
        (local.set $generator)
        (local.set $total (i32.add (local.get $total)))
        (local.set $command (call $pause (local.get $fiber) (local.get $total)))
        (br $next)))
    (switch_retire $to-arena (global.get $terminate) (local.get $total)
      (struct.get $arena $stack (struct.get $fiber $arena (local.get $fiber)))))

  (func $new-adder (param $arena (ref $arena)) (param $from i32) (param $to i32)
    (result (ref $fiber))
    (local $fiber (ref $fiber))
    (local.set $fiber (struct.new $fiber (ref.null $to-fiber) (local.get $arena)))
    (struct.set $fiber $stack (local.get $fiber)
      (stack.bind $new-adder $to-fiber (local.get $fiber) (local.get $from) (local.get $to)
        (stack.new $new-adder $adder)))
    (local.get $fiber))

  ;; ---- the arenas

  ;; Runs a fiber until it pauses or terminates; returns which, and its total.
  (func $run (param $fiber (ref null $fiber)) (param $command i32) (result i32 i32)
    (local $stack (ref null $to-fiber))
    (switch $to-fiber (local.get $command) (struct.get $fiber $stack (local.get $fiber)))
    (local.set $stack)
    (struct.set $fiber $stack (local.get $fiber) (local.get $stack)))

  (func $cancelling-arena (param $fibers (ref $fibers)) (result i32 i32 i32)
    (local $i i32) (local $total i32)
    (local $cancelled i32) (local $lost i32)
    (block $ended
      (loop $next
        (call $run (array.get $fibers (local.get $fibers) (local.get $i)) (global.get $resume))
        (local.set $total)
        (br_if $ended (i32.eq (global.get $terminate)))
        (local.set $i
          (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (array.len (local.get $fibers))))
        (br $next)))
    ;; The fiber that has ended has no stack.
    (local.set $i (array.len (local.get $fibers)))
    (loop $next
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (block $over
        (br_on_null $over
          (struct.get $fiber $stack (array.get $fibers (local.get $fibers) (local.get $i))))
        (drop)
        (call $run (array.get $fibers (local.get $fibers) (local.get $i)) (global.get $cancel))
        (local.set $lost (i32.add (local.get $lost)))
        (drop)
        (local.set $cancelled (i32.add (local.get $cancelled) (i32.const 1))))
      (br_if $next (local.get $i)))
    (local.get $total)
    (local.get $cancelled)
    (local.get $lost))

  (func $joining-arena (param $fibers (ref $fibers)) (result i32)
    (local $i i32) (local $running i32)
    (local $total i32) (local $sum i32)
    (local.set $running (array.len (local.get $fibers)))
    (loop $next
      (block $over
        (br_on_null $over
          (struct.get $fiber $stack (array.get $fibers (local.get $fibers) (local.get $i))))
        (drop)
        (call $run (array.get $fibers (local.get $fibers) (local.get $i)) (global.get $resume))
        (local.set $total)
        (br_if $over (i32.eq (global.get $pause)))
        (local.set $running (i32.sub (local.get $running) (i32.const 1)))
        (local.set $sum (i32.add (local.get $sum) (local.get $total))))
      (local.set $i
        (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (array.len (local.get $fibers))))
      (br_if $next (local.get $running)))
    (local.get $sum))

  ;; Creates fibers; the i-th adds up the elements from i * start to i * start +
  ;; length + i * more.
  (func $fibers (param $count i32) (param $start i32) (param $length i32) (param $more i32)
    (result (ref $fibers))
    (local $fibers (ref $fibers)) (local $arena (ref $arena)) (local $i i32) (local $from i32)
    (local.set $fibers (array.new_default $fibers (local.get $count)))
    (local.set $arena (struct.new_default $arena))
    (loop $next
      (local.set $from (i32.mul (local.get $i) (local.get $start)))
      (array.set $fibers (local.get $fibers) (local.get $i)
        (call $new-adder (local.get $arena) (local.get $from)
          (i32.add
            (i32.add (local.get $from) (local.get $length))
            (i32.mul (local.get $i) (local.get $more)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $count))))
    (local.get $fibers))

  (func (export "race") (param $fibers i32) (result i32 i32 i32)
    (call $cancelling-arena
      (call $fibers (local.get $fibers) (i32.const 0) (i32.const 10) (i32.const 10))))
  (func (export "share") (param $fibers i32) (result i32)
    (call $joining-arena
      (call $fibers (local.get $fibers)
        (i32.div_u (i32.const 100) (local.get $fibers))
        (i32.div_u (i32.const 100) (local.get $fibers))
        (i32.const 0)))))
