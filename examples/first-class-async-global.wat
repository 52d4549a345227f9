;; Asynchronous calls for a program with a single stack. The stack that runs the
;; program and the stack of the program are global variables, so waiting needs no
;; search. The stack of the program always redirects to the stack in `$host`.
;;
;; The program adds the squares that it fetches. Fetching 13 fails, which the
;; program counts as zero. The sum, and the number of waits:
;;
;;   $ ropewalk run --invoke run examples/first-class-async-global.wat 5
;;   55
;;   5
;;   $ ropewalk run --invoke run examples/first-class-async-global.wat 15
;;   1071
;;   15
;;
;; A program that does not expect an error fails with it:
;;
;;   $ ropewalk run --invoke run-carelessly examples/first-class-async-global.wat 15
;;   -13
;;   13

(module
  (import "host" "new_stack" (func $new-stack (result stackref)))

  (tag $error (param i32))
  (event $returning (param i32))
  (event $awaiting (param i32 stackref))
  (event $resolving (param i32 stackref))
  (event $rejecting (param i32 stackref))

  ;; The stack that runs the program, while it runs; the program's stack, while it waits.
  (global $host (mut stackref) (ref.null stack))
  (global $app (mut stackref) (ref.null stack))

  ;; ---- the program

  (global $careful (mut i32) (i32.const 1))
  (func $entry (param $n i32) (result i32)
    (local $i i32) (local $sum i32)
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (local.set $sum
            (i32.add (local.get $sum)
              (if (result i32) (global.get $careful)
                (then (call $fetch-or-nothing (local.get $i)))
                (else (call $await (call $fetch (local.get $i)))))))
          (br $next))))
    (local.get $sum))
  (func $fetch-or-nothing (param $n i32) (result i32)
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (return (call $await (call $fetch (local.get $n)))))
      (unreachable))
    (drop)
    (i32.const 0))

  ;; ---- the asynchronous call

  (func $await (param $promise i32) (result i32)
    (block $resolved (result i32 stackref)
      (block $rejected (result i32 stackref)
        (try
          (stack.switch $awaiting (local.get $promise) (global.get_clear $host))
          catch $resolving $resolved
          catch $rejecting $rejected)
        (unreachable))
      (global.set_cleared $host)
      (throw $error))
    (global.set_cleared $host))

  (func $entry-root (param $input i32) (param $stack stackref)
    (local $output i32)
    (global.set_cleared $host (local.get_clear $stack))
    (stack.redirect_to
      (global.get_clear $host)
     then
      (global.set_cleared $host)
     within
      (local.set $output (call $entry (local.get $input))))
    (stack.switch_drop $returning (local.get $output) (global.get_clear $host)))

  ;; Each of these runs the program until it waits or ends.
  (func $start (param $input i32)
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch_call $entry-root (local.get $input) (call $new-stack))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $wait)
          (return))
        (global.set $outcome)
        (return))
      (unreachable))
    (call $fail))
  (func $resolve (param $value i32)
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch $resolving (local.get $value) (global.get_clear $app))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $wait)
          (return))
        (global.set $outcome)
        (return))
      (unreachable))
    (call $fail))
  (func $reject (param $value i32)
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch $rejecting (local.get $value) (global.get_clear $app))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $wait)
          (return))
        (global.set $outcome)
        (return))
      (unreachable))
    (call $fail))

  ;; ---- the event loop: one promise at a time

  (global $outcome (mut i32) (i32.const 0))
  (global $waits (mut i32) (i32.const 0))
  ;; The number that is being fetched, or zero.
  (global $fetching (mut i32) (i32.const 0))

  (func $fetch (param $n i32) (result i32)
    (global.set $fetching (local.get $n))
    (local.get $n))
  (func $wait (param $promise i32) (param $stack stackref)
    (global.set $waits (i32.add (global.get $waits) (i32.const 1)))
    (global.set_cleared $app (local.get_clear $stack)))
  (func $fail (param $error i32)
    (global.set $outcome (i32.sub (i32.const 0) (local.get $error))))

  (func $event-loop
    (local $n i32)
    (loop $next
      (local.set $n (global.get $fetching))
      (if (local.get $n)
        (then
          (global.set $fetching (i32.const 0))
          (if (i32.eq (local.get $n) (i32.const 13))
            (then (call $reject (local.get $n)))
            (else (call $resolve (i32.mul (local.get $n) (local.get $n)))))
          (br $next)))))

  (func $run (export "run") (param $n i32) (result i32 i32)
    (call $start (local.get $n))
    (call $event-loop)
    (global.get $outcome)
    (global.get $waits))
  (func (export "run-carelessly") (param $n i32) (result i32 i32)
    (global.set $careful (i32.const 0))
    (call $run (local.get $n))))
