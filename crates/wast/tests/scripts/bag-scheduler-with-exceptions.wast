;; Threads on coroutines wait in a scheduler's queue, and interrupt one another with exceptions.

(module
  ;; The scheduler and all threads have the same stack type.
  (type $c (stack (param i32) (ref null $c)))
  (tag $interrupt (param i32) (param (ref null $c)))
  (tag $give-up (param i32))

  (table $threads 8 (ref null $c))
  (global $scheduler (mut (ref null $c)) (ref.null $c))
  (global $running (mut i32) (i32.const 0))
  (global $log (mut i64) (i64.const 0))
  (func $log (param i32)
    (global.set $log
      (i64.add (i64.mul (global.get $log) (i64.const 10)) (i64.extend_i32_u (local.get 0)))))
  (func (export "log") (result i64) (global.get $log) (global.set $log (i64.const 0)))

  ;; ---- Threads.

  ;; Yields to the scheduler. Returns the value of the next switch, or throws.
  (func $yield (result i32)
    (switch $c (i32.const 0) (global.get $scheduler))
    (global.set $scheduler))
  ;; The throwing thread waits in the queue at the place of its target, which becomes the running
  ;; thread.
  (func $interrupt (param $whom i32) (param $with i32)
    (local $me i32)
    (local.set $me (global.get $running))
    (global.set $running (local.get $whom))
    (switch_throw $c $interrupt (local.get $with) (table.get $threads (local.get $whom)))
    (global.set $scheduler)
    (drop)
    (global.set $running (local.get $me)))

  ;; Logs its number until it is interrupted. Then it logs the message, puts the interrupting thread
  ;; into the queue and continues. It ends if the message is nine.
  (func $logs (param $number i32) (param $from (ref null $c))
    (local $said i32)
    (global.set $scheduler (local.get $from))
    (block $given-up (result i32)
      (try_table (result i32) (catch $give-up $given-up)
        (loop $next (result i32)
          (call $log (local.get $number))
          (block $interrupted (result i32 (ref null $c))
            (try_table (catch $interrupt $interrupted)
              (drop (call $yield))
              (br $next))
            (unreachable))
          (local.set $from)
          (local.set $said)
          (call $log (local.get $said))
          (table.set $threads (i32.const 7) (local.get $from))
          (if (i32.eq (local.get $said) (i32.const 9))
            (then (throw $give-up (local.get $number))))
          (br $next))))
    (call $log)
    (switch_retire $c (i32.const 1) (global.get $scheduler)))
  ;; Interrupts the other threads one after another. The scheduler resumes it from its place in the
  ;; queue.
  (func $disturbs (param $number i32) (param $from (ref null $c))
    (global.set $scheduler (local.get $from))
    (call $interrupt (i32.const 1) (i32.const 5))
    (call $interrupt (i32.const 2) (i32.const 6))
    (call $interrupt (i32.const 1) (i32.const 9))
    (call $log (i32.const 3))
    (switch_retire $c (i32.const 1) (global.get $scheduler)))

  ;; ---- The scheduler, on the root.

  (func $run (param $number i32)
    (local $s (ref null $c))
    (if (ref.is_null (table.get $threads (local.get $number))) (then (return)))
    (global.set $running (local.get $number))
    (switch $c (local.get $number) (table.get $threads (local.get $number)))
    (local.set $s)
    (drop)
    ;; The returned stack is the thread that ran last, or null if that has ended.
    (table.set $threads (global.get $running) (local.get $s)))
  (func (export "run") (param $rounds i32)
    (table.set $threads (i32.const 1) (stack.new $c $logs))
    (table.set $threads (i32.const 2) (stack.new $c $logs))
    (table.set $threads (i32.const 7) (stack.new $c $disturbs))
    (loop $next
      (call $run (i32.const 1))
      (call $run (i32.const 2))
      (call $run (i32.const 7))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $next (local.get $rounds)))))

;; Round 1: 1 and 2 log, and the third thread interrupts 1 with 5. Round 2: 1 and 2 log, and it
;; interrupts 2 with 6. Round 3: 1 and 2 log, and it interrupts 1 with 9, which logs its number and
;; ends. Round 4: 2 logs, and the third thread logs 3 and ends. Round 5: 2 logs.
(assert_return (invoke "run" (i32.const 5)))
(assert_return (invoke "log") (i64.const 125112621291232))
