;; Fibers as tasks: each adds up the numbers of a generator, which is a task itself,
;; and suspends itself after each number. An arena resumes its fibers in turn, ends
;; when the first fiber ends, and cancels the others. A canceled fiber releases its
;; generator.
;;
;; Fibers add up 1, 2, .. up to 10, to 20, and so on. The total of the first that
;; ends, the number of canceled fibers, the sum of their totals, and the number
;; of generators that were released:
;;
;;   $ ropewalk run --invoke race examples/task-arena.wat 5
;;   55
;;   4
;;   220
;;   4
;;
;; With one fiber there is none to cancel:
;;
;;   $ ropewalk run --invoke race examples/task-arena.wat 1
;;   55
;;   0
;;   0
;;   0

(module
  ;; ---- the generator

  (global $next i32 (i32.const 0))
  (global $yield i32 (i32.const 0))
  (global $end i32 (i32.const 1))
  (type $generator (task (param i32) (result i32 i32)))

  (func $numbers (param $me (ref null $generator)) (param $first i32) (param $count i32)
    (result i32 i32)
    (local $n i32)
    (loop $more
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (if (i32.le_u (local.get $n) (local.get $count))
        (then
          (drop
            (task.suspend $generator (local.get $me) (local.get $n) (global.get $yield)))
          (br $more))))
    (i32.const 0)
    (global.get $end))

  ;; ---- the fibers

  (global $go-ahead i32 (i32.const 0))
  (global $cancel i32 (i32.const 1))
  (global $pause i32 (i32.const 0))
  (global $end-fiber i32 (i32.const 1))
  (type $fiber (task (param i32) (result i32 i32)))
  (global $released (mut i32) (i32.const 0))

  ;; A fiber manages a generator, and an arena manages the fiber.
  (func $adder (param $me (ref null $fiber)) (param $first i32)
    (param $generator (ref null $generator))
    (result i32 i32)
    (local $total i32)
    (block $on-cancel
      (br_if $on-cancel (i32.eq (local.get $first) (global.get $cancel)))
      (loop $more
        (block $on-end (result i32)
          (block $on-yield (result i32)
            (task.resume $generator (local.get $generator) (global.get $next))
            (br_table $on-yield $on-end))
          (local.set $total (i32.add (local.get $total)))
          (block $on-go-ahead
            (task.suspend $fiber (local.get $me) (local.get $total) (global.get $pause))
            (br_table $on-go-ahead $on-cancel))
          (br $more))
        (drop)
        (return (local.get $total) (global.get $end-fiber)))
      (unreachable))
    ;; The generator is not resumed, only freed.
    (task.release $generator (local.get $generator))
    (global.set $released (i32.add (global.get $released) (i32.const 1)))
    (local.get $total)
    (global.get $end-fiber))

  ;; ---- the arena

  (table $fibers 100 (ref null $fiber))

  (func $cancelling-arena (param $count i32) (result i32 i32 i32)
    (local $i i32) (local $j i32)
    (local $total i32)
    (local $cancelled i32) (local $lost i32)
    (block $on-end (result i32)
      (loop $round (result i32)
        (block $on-pause (result i32)
          (task.resume $fiber (table.get $fibers (local.get $i)) (global.get $go-ahead))
          (br_table $on-pause $on-end))
        (drop)
        (local.set $i
          (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (local.get $count)))
        (br $round)))
    (local.set $total)
    (loop $others
      (if (i32.ne (local.get $i) (local.get $j))
        (then
          (task.resume $fiber (table.get $fibers (local.get $j)) (global.get $cancel))
          (drop)
          (local.set $lost (i32.add (local.get $lost)))
          (local.set $cancelled (i32.add (local.get $cancelled) (i32.const 1)))))
      (local.set $j (i32.add (local.get $j) (i32.const 1)))
      (br_if $others (i32.lt_u (local.get $j) (local.get $count))))
    (local.get $total)
    (local.get $cancelled)
    (local.get $lost))

  (func (export "race") (param $count i32) (result i32 i32 i32 i32)
    (local $i i32)
    (loop $next
      (table.set $fibers (local.get $i)
        (task.new $fiber $adder
          (task.new $generator $numbers
            (i32.mul (i32.add (local.get $i) (i32.const 1)) (i32.const 10)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $count))))
    (call $cancelling-arena (local.get $count))
    (global.get $released)))
