;; Green threads in an arena: each thread is a fiber that adds up the values of a
;; generator, which is another fiber, and pauses after each value. The arena runs
;; the threads in turn. When the first has ended, it cancels all others.
;;
;; Three threads add up the numbers from 1 to their limit. The total of the first
;; that ends, the number of canceled threads, and the number of generators that
;; they have released:
;;
;;   $ ropewalk run --invoke race examples/fiber-arena.wat 30 10 20
;;   55
;;   2
;;   2
;;   $ ropewalk run --invoke race examples/fiber-arena.wat 3 4 100
;;   6
;;   2
;;   2
;;
;; A thread may be canceled before it has ever run:
;;
;;   $ ropewalk run --invoke race examples/fiber-arena.wat 5 0 5
;;   0
;;   2
;;   2

(module
  ;; ---- the generators

  (tag $next)
  (tag $yield (param i32))
  (tag $end)
  (func $count-to (param $limit i32) (param $this fiberref)
    (local $i i32)
    (block $ended
      (loop $more
        (br_if $ended (i32.ge_u (local.get $i) (local.get $limit)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (fiber.dismount $yield (on $next $more) (local.get $i) (local.get $this))
        (unreachable))))

  ;; ---- the threads

  ;; The messages of the arena to a thread, and of a thread to the arena.
  (tag $go-ahead)
  (tag $cancel)
  (tag $pause)
  (tag $finish (param i32))

  (global $released (mut i32) (i32.const 0))
  (func $release (param $generator fiberref)
    (fiber.release (local.get $generator))
    (global.set $released (i32.add (global.get $released) (i32.const 1))))

  ;; A new thread is suspended. The first event that it receives selects the
  ;; function that it runs.
  (func $new-thread (param $generator fiberref) (result (ref fiber))
    (fiber.new $finish (on $go-ahead $adder) (on $cancel $cancelled-early)
      (local.get $generator)))

  (func $adder (param $generator fiberref) (param $this fiberref) (result i32)
    (local $total i32)
    (block $ended
      (block $cancelled
        (loop $more
          (block $yielded (result i32)
            (fiber.mount $next (on $yield $yielded) (on $end $ended) (local.get $generator))
            (unreachable))
          (local.set $total (i32.add (local.get $total)))
          (fiber.dismount $pause (on $go-ahead $more) (on $cancel $cancelled)
            (local.get $this))
          (unreachable)))
      (call $release (local.get $generator)))
    (local.get $total))

  (func $cancelled-early (param $generator fiberref) (param $this fiberref) (result i32)
    (call $release (local.get $generator))
    (i32.const 0))

  ;; ---- the arena

  (table $threads 16 fiberref)
  (global $cancelled (mut i32) (i32.const 0))

  (func $cancelling-arena (param $count i32) (result i32)
    (local $i i32) (local $total i32)
    (block $finished (result i32)
      (loop $next
        (if (i32.ge_u (local.get $i) (local.get $count)) (then (local.set $i (i32.const 0))))
        (block $paused
          (fiber.mount $go-ahead (on $pause $paused) (on $finish $finished)
            (table.get $threads (local.get $i)))
          (unreachable))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))
      (unreachable))
    (local.set $total)
    (call $cancel-but (local.get $i) (local.get $count))
    (local.get $total))

  (func $cancel-but (param $first i32) (param $count i32)
    (local $i i32)
    (loop $next
      (if (i32.ne (local.get $i) (local.get $first))
        (then
          (block $finished (result i32)
            (fiber.mount $cancel (on $finish $finished) (table.get $threads (local.get $i)))
            (unreachable))
          (drop)
          (global.set $cancelled (i32.add (global.get $cancelled) (i32.const 1)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $count)))))

  (func $enter (param $i i32) (param $limit i32)
    (table.set $threads (local.get $i)
      (call $new-thread (fiber.new $end (on $next $count-to) (local.get $limit)))))

  (func (export "race") (param i32 i32 i32) (result i32 i32 i32)
    (call $enter (i32.const 0) (local.get 0))
    (call $enter (i32.const 1) (local.get 1))
    (call $enter (i32.const 2) (local.get 2))
    (call $cancelling-arena (i32.const 3))
    (global.get $cancelled)
    (global.get $released)))
