;; A scheduler on coroutines, which interrupt one another with exceptions: each
;; thread waits in a queue, and whoever runs can throw at one that waits.

(module
  ;; Every stack waits for the scheduler, or the scheduler for it, in the same way.
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

  ;; ---- for the threads

  ;; Lets others run. Gives what the scheduler says, or throws.
  (func $yield (result i32)
    (switch $c (i32.const 0) (global.get $scheduler))
    (global.set $scheduler))
  ;; The thread that throws waits at the place of the one that is thrown at, which
  ;; becomes the running one.
  (func $interrupt (param $whom i32) (param $with i32)
    (local $me i32)
    (local.set $me (global.get $running))
    (global.set $running (local.get $whom))
    (switch_throw $c $interrupt (local.get $with) (table.get $threads (local.get $whom)))
    (global.set $scheduler)
    (drop)
    (global.set $running (local.get $me)))

  ;; Logs its number until it is interrupted; then logs what it was told, lets the
  ;; interrupter wait in the queue, and goes on, but gives up when told nine.
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
  ;; Interrupts the others, one after another; is itself continued by the
  ;; scheduler from the place where the queue keeps it.
  (func $disturbs (param $number i32) (param $from (ref null $c))
    (global.set $scheduler (local.get $from))
    (call $interrupt (i32.const 1) (i32.const 5))
    (call $interrupt (i32.const 2) (i32.const 6))
    (call $interrupt (i32.const 1) (i32.const 9))
    (call $log (i32.const 3))
    (switch_retire $c (i32.const 1) (global.get $scheduler)))

  ;; ---- the scheduler, on the root

  (func $run (param $number i32)
    (local $s (ref null $c))
    (if (ref.is_null (table.get $threads (local.get $number))) (then (return)))
    (global.set $running (local.get $number))
    (switch $c (local.get $number) (table.get $threads (local.get $number)))
    (local.set $s)
    (drop)
    ;; The one that came back is the one that ran last; null if it is over.
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

;; Round 1: 1 logs, 2 logs, the third interrupts 1 with 5, which goes on. Round 2:
;; 1, 2, and 6 at 2, which goes on. Round 3: 1, 2, and 9 at 1, which gives up and
;; logs its number. Round 4: 2, and the third ends with 3. Round 5: 2.
(assert_return (invoke "run" (i32.const 5)))
(assert_return (invoke "log") (i64.const 125112621291232))
