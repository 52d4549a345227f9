;; Threads that switch to each other directly, without a scheduler; they share a
;; queue. `switch` suspends the running thread and resumes another in one step.
;; The other thread receives the continuation of the first, and adds it to the
;; queue.
;;
;; Thread number n writes the digit n as many times.
;;
;;   $ ropewalk run --invoke run examples/continuations-switching.wat 4
;;   1234234344
;;
;; Two threads that switch a million times each:
;;
;;   $ ropewalk run --invoke switches examples/continuations-switching.wat 1000000
;;   2000000

(module
  ;; A resumed thread receives the thread that switched to it, or null if that
  ;; thread has ended.
  (rec
    (type $body (func (param (ref null $thread))))
    (type $thread (cont $body)))
  (type $numbered (func (param i32 (ref null $thread))))
  (type $new (cont $numbered))
  ;; Threads return nothing to the code that runs them all.
  (tag $switch)
  (elem declare func $digits $counts)
  (global $written (mut i64) (i64.const 0))
  (global $switches (mut i32) (i32.const 0))

  ;; ---- the queue

  (table $ready 64 (ref null $thread))
  (global $first (mut i32) (i32.const 0))
  (global $last (mut i32) (i32.const 0))
  (func $enqueue (param $thread (ref null $thread))
    (if (ref.is_null (local.get $thread)) (then (return)))
    (table.set $ready (global.get $last) (local.get $thread))
    (global.set $last (call $after (global.get $last))))
  (func $dequeue (result (ref null $thread))
    (table.get $ready (global.get $first))
    (global.set $first (call $after (global.get $first))))
  (func $after (param $place i32) (result i32)
    (i32.and (i32.add (local.get $place) (i32.const 1)) (i32.const 63)))
  (func $is-empty (result i32) (i32.eq (global.get $first) (global.get $last)))

  ;; ---- the threads

  ;; Lets another thread run, if there is one.
  (func $yield
    (if (call $is-empty) (then (return)))
    (call $enqueue (switch $thread $switch (call $dequeue))))

  (func $digits (param $number i32) (param $left (ref null $thread))
    (local $times i32)
    (call $enqueue (local.get $left))
    (local.set $times (local.get $number))
    (loop $next
      (global.set $written
        (i64.add (i64.mul (global.get $written) (i64.const 10))
          (i64.extend_i32_u (local.get $number))))
      (call $yield)
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $next (local.get $times))))

  (func $counts (param $times i32) (param $left (ref null $thread))
    (call $enqueue (local.get $left))
    (loop $next
      (global.set $switches (i32.add (global.get $switches) (i32.const 1)))
      (call $yield)
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $next (local.get $times))))

  (func $spawn (param $body (ref $numbered)) (param $number i32)
    (call $enqueue
      (cont.bind $new $thread (local.get $number) (cont.new $new (local.get $body)))))

  ;; When a thread ends, the next one in the queue is resumed.
  (func $run
    (loop $next
      (if (call $is-empty) (then (return)))
      (resume $thread (on $switch switch) (ref.null $thread) (call $dequeue))
      (br $next)))

  (func (export "run") (param $threads i32) (result i64)
    (local $number i32)
    (loop $next
      (local.set $number (i32.add (local.get $number) (i32.const 1)))
      (call $spawn (ref.func $digits) (local.get $number))
      (br_if $next (i32.lt_u (local.get $number) (local.get $threads))))
    (call $run)
    (global.get $written))
  (func (export "switches") (param $times i32) (result i32)
    (call $spawn (ref.func $counts) (local.get $times))
    (call $spawn (ref.func $counts) (local.get $times))
    (call $run)
    (global.get $switches)))
