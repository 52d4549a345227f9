;; Asynchronous calls on first-class stacks. A program that is written as if all
;; data were available runs on its own stack. When it waits for a promise, its
;; stack is stored and its caller continues. When the promise is settled, the event
;; loop switches back. While the program runs, its stack redirects to the stack
;; that runs it, so an error arrives there.
;;
;; The program adds what it fetches: the squares of the numbers up to a limit.
;; The sum, and the number of waits:
;;
;;   $ ropewalk run --invoke run examples/first-class-async.wat 5
;;   55
;;   5
;;
;; Fetching 13 fails. The program does not expect it, and the error arrives in
;; the event loop, which returns its negative:
;;
;;   $ ropewalk run --invoke run examples/first-class-async.wat 20
;;   -13
;;   13
;;
;; Several programs wait at the same time:
;;
;;   $ ropewalk run --invoke both examples/first-class-async.wat 3 4
;;   14
;;   30

(module
  (import "host" "new_stack" (func $new-stack (result stackref)))

  (tag $error (param i32))
  (call_tag $await (param i32) (result i32))
  (event $returning (param i32))
  (event $awaiting (param i32 stackref))
  (event $resolving (param i32 stackref))
  (event $rejecting (param i32 stackref))

  ;; ---- the program

  (func $entry (param $n i32) (result i32)
    (local $i i32) (local $sum i32)
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (local.set $sum
            (i32.add (local.get $sum) (call_stack $await (call $fetch (local.get $i)))))
          (br $next))))
    (local.get $sum))

  ;; ---- the asynchronous call

  ;; The first function on the program's stack. The stack that runs it is in `$stack`,
  ;; except while it waits.
  (func $entry-root (param $input i32) (param $stack stackref)
    (local $promise i32) (local $output i32)
    (stack.redirect $stack
      (answer $await
        (local.set $promise)
        (block $resolved (result i32 stackref)
          (block $rejected (result i32 stackref)
            (try
              (stack.switch $awaiting (local.get $promise) (local.get_clear $stack))
              catch $resolving $resolved
              catch $rejecting $rejected)
            (unreachable))
          (local.set_cleared $stack)
          (throw $error))
        (local.set_cleared $stack)
       within
        (local.set $output (call $entry (local.get $input)))))
    (stack.switch_drop $returning (local.get $output) (local.get_clear $stack)))

  (func $start (param $program i32) (param $input i32)
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch_call $entry-root (local.get $input) (call $new-stack))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $when-settled (local.get $program))
          (return))
        (call $end (local.get $program))
        (return))
      (unreachable))
    (call $fail (local.get $program)))

  (func $resolve (param $promise i32) (param $value i32)
    (local $program i32)
    (local.set $program (call $program-of (local.get $promise)))
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch $resolving
                (local.get $value) (table.get_clear $waiting (local.get $promise)))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $when-settled (local.get $program))
          (return))
        (call $end (local.get $program))
        (return))
      (unreachable))
    (call $fail (local.get $program)))

  (func $reject (param $promise i32) (param $value i32)
    (local $program i32)
    (local.set $program (call $program-of (local.get $promise)))
    (block $failed (result i32)
      (try_table (catch $error $failed)
        (block $returned (result i32)
          (block $awaited (result i32 stackref)
            (try
              (stack.switch $rejecting
                (local.get $value) (table.get_clear $waiting (local.get $promise)))
              catch $awaiting $awaited
              catch $returning $returned)
            (unreachable))
          (call $when-settled (local.get $program))
          (return))
        (call $end (local.get $program))
        (return))
      (unreachable))
    (call $fail (local.get $program)))

  ;; ---- the host: promises, and the event loop that settles them

  (memory 1)
  (table $waiting 1000 stackref)
  (global $promises (mut i32) (i32.const 0))
  (global $settled (mut i32) (i32.const 0))
  (global $waits (mut i32) (i32.const 0))
  (table $outcomes 10 i31ref)

  ;; A promise is a number; its request and the stack that waits for it are in memory.
  (func $fetch (param $n i32) (result i32)
    (i32.store (i32.mul (global.get $promises) (i32.const 8)) (local.get $n))
    (global.get $promises)
    (global.set $promises (i32.add (global.get $promises) (i32.const 1))))
  (func $when-settled (param $promise i32) (param $stack stackref) (param $program i32)
    (global.set $waits (i32.add (global.get $waits) (i32.const 1)))
    (i32.store offset=4 (i32.mul (local.get $promise) (i32.const 8)) (local.get $program))
    (table.set_cleared $waiting (local.get $promise) (local.get_clear $stack)))
  (func $program-of (param $promise i32) (result i32)
    (i32.load offset=4 (i32.mul (local.get $promise) (i32.const 8))))
  (func $end (param $value i32) (param $program i32)
    (table.set $outcomes (local.get $program) (ref.i31 (local.get $value))))
  (func $fail (param $error i32) (param $program i32)
    (table.set $outcomes (local.get $program)
      (ref.i31 (i32.sub (i32.const 0) (local.get $error)))))
  (func $outcome (param $program i32) (result i32)
    (i31.get_s (table.get $outcomes (local.get $program))))

  (func $event-loop
    (local $promise i32) (local $n i32)
    (loop $next
      (if (i32.lt_u (global.get $settled) (global.get $promises))
        (then
          (local.set $promise (global.get $settled))
          (global.set $settled (i32.add (local.get $promise) (i32.const 1)))
          (local.set $n (i32.load (i32.mul (local.get $promise) (i32.const 8))))
          (if (i32.eq (local.get $n) (i32.const 13))
            (then (call $reject (local.get $promise) (local.get $n)))
            (else
              (call $resolve (local.get $promise)
                (i32.mul (local.get $n) (local.get $n)))))
          (br $next)))))

  (func (export "run") (param $n i32) (result i32 i32)
    (call $start (i32.const 0) (local.get $n))
    (call $event-loop)
    (call $outcome (i32.const 0))
    (global.get $waits))
  (func (export "both") (param $a i32) (param $b i32) (result i32 i32)
    (call $start (i32.const 0) (local.get $a))
    (call $start (i32.const 1) (local.get $b))
    (call $event-loop)
    (call $outcome (i32.const 0))
    (call $outcome (i32.const 1))))
