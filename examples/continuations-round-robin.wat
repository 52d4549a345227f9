;; Threads that yield to a scheduler, which runs them in turn. Thread number n
;; writes the digit n and yields, n times. A thread can spawn others: the first
;; one spawns the rest.
;;
;;   $ ropewalk run --invoke run examples/continuations-round-robin.wat 4
;;   1223343444
;;
;; With a thousand threads, the digits are only counted:
;;
;;   $ ropewalk run --invoke count examples/continuations-round-robin.wat 1000
;;   500500

(module
  (type $body (func))
  (type $thread (cont $body))
  (type $numbered (func (param i32)))
  (type $new (cont $numbered))
  (tag $yield)
  (tag $spawn (param (ref $thread)))
  (elem declare func $main $digits)
  (global $written (mut i64) (i64.const 0))
  (global $count (mut i32) (i32.const 0))

  (func $write (param $digit i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (global.set $written
      (i64.add (i64.mul (global.get $written) (i64.const 10))
        (i64.extend_i32_u (local.get $digit)))))

  ;; ---- the threads

  (func $thread (param $body (ref $numbered)) (param $number i32) (result (ref $thread))
    (cont.bind $new $thread (local.get $number) (cont.new $new (local.get $body))))

  (func $main (param $threads i32)
    (local $number i32)
    (loop $next
      (local.set $number (i32.add (local.get $number) (i32.const 1)))
      (suspend $spawn (call $thread (ref.func $digits) (local.get $number)))
      (br_if $next (i32.lt_u (local.get $number) (local.get $threads)))))

  (func $digits (param $number i32)
    (local $times i32)
    (local.set $times (local.get $number))
    (loop $next
      (call $write (local.get $number))
      (suspend $yield)
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $next (local.get $times))))

  ;; ---- the scheduler

  ;; A ring of the threads that are ready.
  (table $ready 2048 (ref null $thread))
  (global $first (mut i32) (i32.const 0))
  (global $last (mut i32) (i32.const 0))
  (func $enqueue (param $thread (ref $thread))
    (table.set $ready (global.get $last) (local.get $thread))
    (global.set $last (call $after (global.get $last))))
  (func $dequeue (result (ref null $thread))
    (table.get $ready (global.get $first))
    (global.set $first (call $after (global.get $first))))
  (func $after (param $place i32) (result i32)
    (i32.and (i32.add (local.get $place) (i32.const 1)) (i32.const 2047)))

  ;; Runs a thread and all threads that it spawns to their ends.
  (func $schedule (param $thread (ref $thread))
    (call $enqueue (local.get $thread))
    (loop $next
      (if (i32.eq (global.get $first) (global.get $last)) (then (return)))
      (block $yielded (result (ref $thread))
        (block $spawned (result (ref $thread) (ref $thread))
          (resume $thread (on $yield $yielded) (on $spawn $spawned) (call $dequeue))
          (br $next))
        ;; The new thread waits behind the thread that spawned it.
        (local.set $thread)
        (call $enqueue)
        (local.get $thread))
      (call $enqueue)
      (br $next)))

  (func (export "run") (param $threads i32) (result i64)
    (call $schedule (call $thread (ref.func $main) (local.get $threads)))
    (global.get $written))
  (func (export "count") (param $threads i32) (result i32)
    (call $schedule (call $thread (ref.func $main) (local.get $threads)))
    (global.get $count)))
