;; Lightweight threads on first-class stacks. A manager switches to the threads in
;; turn. A thread yields by switching back to the manager, spawns other threads, and
;; waits for their results. When the first thread has completed, the others are
;; aborted, and their stacks unwind.
;;
;; Divide and conquer: each call of the Fibonacci function splits its work
;; between two new threads. The result, and the number of threads:
;;
;;   $ ropewalk run --invoke fib examples/first-class-threads.wat 10
;;   55
;;   177
;;
;; Workers that never end, and clean up when they are aborted. The number of open
;; workers when the first thread completes, and afterwards:
;;
;;   $ ropewalk run --invoke abort examples/first-class-threads.wat 20
;;   20
;;   0

(module
  (import "host" "new_stack" (func $new-stack (result stackref)))

  ;; The body of a thread, and its result.
  (type $work (func (param i32) (result i32)))
  (type $task (struct (field $work (ref $work)) (field $argument i32)))
  (type $product (struct (field $value i32)))

  (event $thread-yielded (param stackref))
  (event $work-completed (param (ref $product)))
  (event $thread-aborted)
  (event $resume)
  (event $abort (param stackref))

  ;; The stack of the manager while a thread runs.
  (global $manager (mut stackref) (ref.null stack))
  (table $pool 1000 stackref)
  (table $results 1000 (ref null $product))
  (global $current (mut i32) (i32.const 999))
  (global $spawned (mut i32) (i32.const 0))

  ;; ---- in a thread

  (func $yield
    (block $resumed
      (try
        (stack.switch $thread-yielded (global.get_clear $manager))
        catch $resume $resumed)
      (unreachable)))

  (func $do-work (param $task (ref $task)) (result (ref $product))
    (struct.new $product
      (call_ref $work
        (struct.get $task $argument (local.get $task))
        (struct.get $task $work (local.get $task)))))

  (rout $thread (param $task (ref $task))
    (block $aborted (result stackref)
      (try
        (block $resumed
          (try (stack.start) catch $resume $resumed)
          (unreachable))
        (stack.switch_drop $work-completed
          (call $do-work (local.get $task)) (global.get_clear $manager))
        catch $abort $aborted)
      (unreachable))
    (stack.switch_drop $thread-aborted))

  (func $spawn (param $task (ref $task)) (result i32)
    (local $id i32)
    (local.set $id (call $find-free))
    (global.set $spawned (i32.add (global.get $spawned) (i32.const 1)))
    (table.set_cleared $pool (local.get $id)
      (stack.extend $thread (local.get $task) (call $new-stack)))
    (local.get $id))

  (func $divide-and-conquer (param $task-1 (ref $task)) (param $task-2 (ref $task))
      (result (ref $product) (ref $product))
    (local $id-1 i32) (local $id-2 i32)
    (local $product-1 (ref null $product)) (local $product-2 (ref null $product))
    (local.set $id-1 (call $spawn (local.get $task-1)))
    (local.set $id-2 (call $spawn (local.get $task-2)))
    (loop $waiting
      (call $yield)
      (if (ref.is_null (local.get $product-1))
        (then (local.set $product-1 (table.get $results (local.get $id-1)))))
      (if (ref.is_null (local.get $product-2))
        (then (local.set $product-2 (table.get $results (local.get $id-2)))))
      (br_if $waiting (ref.is_null (local.get $product-1)))
      (br_if $waiting (ref.is_null (local.get $product-2))))
    (ref.as_non_null (local.get $product-1))
    (ref.as_non_null (local.get $product-2)))

  ;; ---- the manager

  ;; Runs on the stack of the thread, and stores the stack of the manager.
  (func $resume-thread (param $manager stackref)
    (global.set_cleared $manager (local.get_clear $manager)))

  ;; Lets the current thread run. Returns whether it has completed.
  (func $step (result i32)
    (block $completed (result (ref $product))
      (block $yielded (result stackref)
        (try
          (stack.switch_call $resume-thread $resume
            (table.get_clear $pool (global.get $current)))
          catch $thread-yielded $yielded
          catch $work-completed $completed)
        (unreachable))
      (call $put-back)
      (return (i32.const 0)))
    (call $keep-result)
    (i32.const 1))
  (func $put-back (param $thread stackref)
    (table.set_cleared $pool (global.get $current) (local.get_clear $thread)))
  (func $keep-result (param $product (ref $product))
    (table.set $results (global.get $current) (local.get $product)))

  (func $abort-thread (param $id i32)
    (block $aborted
      (try
        (stack.switch $abort (table.get_clear $pool (local.get $id)))
        catch $thread-aborted $aborted)
      (unreachable)))

  (func $run (param $task (ref $task)) (result i32)
    (local $primary i32)
    (local.set $primary (call $spawn (local.get $task)))
    (block $finished
      (loop $round-robin
        (global.set $current (call $find-next (global.get $current)))
        ;; The result of the previous thread in this slot has been fetched.
        (table.set $results (global.get $current) (ref.null $product))
        (br_if $round-robin (i32.eqz (call $step)))
        (br_if $round-robin (i32.ne (global.get $current) (local.get $primary)))))
    (struct.get $product $value (table.get $results (local.get $primary))))

  (func $abort-all
    (local $id i32)
    (loop $next
      (if (call $is-used (local.get $id)) (then (call $abort-thread (local.get $id))))
      (local.set $id (i32.add (local.get $id) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $id) (i32.const 1000)))))

  ;; ---- the slots of the pool

  ;; Reading a slot takes its stack out, so it is put back.
  (func $is-used (param $id i32) (result i32)
    (block $null
      (br_on_null $null (table.get_clear $pool (local.get $id)))
      (call $put (local.get $id))
      (return (i32.const 1)))
    (i32.const 0))
  (func $put (param $stack stackref) (param $id i32)
    (table.set_cleared $pool (local.get $id) (local.get_clear $stack)))
  (func $after (param $id i32) (result i32)
    (i32.rem_u (i32.add (local.get $id) (i32.const 1)) (i32.const 1000)))
  (func $find-next (param $id i32) (result i32)
    (loop $search
      (local.set $id (call $after (local.get $id)))
      (br_if $search (i32.eqz (call $is-used (local.get $id)))))
    (local.get $id))
  ;; The slot of the running thread is empty, but not free.
  (func $find-free (result i32)
    (local $id i32)
    (local.set $id (global.get $current))
    (loop $search
      (local.set $id (call $after (local.get $id)))
      (br_if $search (i32.eq (local.get $id) (global.get $current)))
      (br_if $search (call $is-used (local.get $id))))
    (local.get $id))

  ;; ---- the bodies of the threads

  (elem declare func $fib $worker $employer)
  (func $fib (param $n i32) (result i32)
    (local $product (ref null $product))
    (if (i32.lt_u (local.get $n) (i32.const 2)) (then (return (local.get $n))))
    (call $divide-and-conquer
      (struct.new $task (ref.func $fib) (i32.sub (local.get $n) (i32.const 1)))
      (struct.new $task (ref.func $fib) (i32.sub (local.get $n) (i32.const 2))))
    (local.set $product)
    (i32.add
      (struct.get $product $value)
      (struct.get $product $value (local.get $product))))

  (global $open (mut i32) (i32.const 0))
  (func $worker (param $n i32) (result i32)
    (global.set $open (i32.add (global.get $open) (i32.const 1)))
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever (call $yield) (br $forever)))
      (unreachable))
    (global.set $open (i32.sub (global.get $open) (i32.const 1)))
    (throw_ref))
  (func $employer (param $n i32) (result i32)
    (loop $next
      (drop (call $spawn (struct.new $task (ref.func $worker) (i32.const 0))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (call $yield)
    (call $yield)
    (global.get $open))

  (func (export "fib") (param $n i32) (result i32 i32)
    (call $run (struct.new $task (ref.func $fib) (local.get $n)))
    (call $abort-all)
    (global.get $spawned))
  (func (export "abort") (param $n i32) (result i32 i32)
    (call $run (struct.new $task (ref.func $employer) (local.get $n)))
    (call $abort-all)
    (global.get $open)))
