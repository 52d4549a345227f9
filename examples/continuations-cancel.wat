;; Cancellation: `resume_throw` resumes a suspended task with an exception, so
;; that it can clean up. Each task here opens a file, waits, and closes the file
;; when it is canceled. A stubborn task only counts its cancellations, and waits
;; again.
;;
;; Start tasks and cancel all of them; the number of open files before and after:
;;
;;   $ ropewalk run --invoke run examples/continuations-cancel.wat 10
;;   10
;;   0
;;
;; The number of times that a stubborn task has to be canceled:
;;
;;   $ ropewalk run --invoke insist examples/continuations-cancel.wat 5
;;   5

(module
  (type $body (func (result i32)))
  (type $task (cont $body))
  (type $patience (func (param i32) (result i32)))
  (type $new-stubborn (cont $patience))
  (tag $wait)
  (tag $cancel)
  (elem declare func $careful $stubborn)
  (global $open (mut i32) (i32.const 0))
  (table $tasks 100 (ref null $task))

  (func $careful (result i32)
    (global.set $open (i32.add (global.get $open) (i32.const 1)))
    (block $cancelled (result exnref)
      (try_table (catch_all_ref $cancelled)
        (loop $forever (suspend $wait) (br $forever)))
      (unreachable))
    (global.set $open (i32.sub (global.get $open) (i32.const 1)))
    (throw_ref))

  (func $stubborn (param $patience i32) (result i32)
    (local $times i32)
    (loop $next
      (block $cancelled
        (try_table (catch $cancel $cancelled) (suspend $wait))
        (unreachable))
      (local.set $times (i32.add (local.get $times) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $times) (local.get $patience))))
    (local.get $times))

  ;; Runs a task until it waits.
  (func $start (param $task (ref $task)) (result (ref $task))
    (block $waits (result (ref $task))
      (drop (resume $task (on $wait $waits) (local.get $task)))
      (unreachable)))

  ;; Cancels a task that does not resist.
  (func $cancel (param $task (ref null $task))
    (block $cancelled
      (try_table (catch $cancel $cancelled)
        (drop (resume_throw $task $cancel (local.get $task))))))

  (func (export "run") (param $count i32) (result i32 i32)
    (local $i i32)
    (loop $next
      (table.set $tasks (local.get $i) (call $start (cont.new $task (ref.func $careful))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $count))))
    (global.get $open)
    (loop $next
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (call $cancel (table.get $tasks (local.get $i)))
      (br_if $next (local.get $i)))
    (global.get $open))

  (func (export "insist") (param $patience i32) (result i32)
    (local $task (ref $task))
    (local.set $task
      (call $start
        (cont.bind $new-stubborn $task (local.get $patience)
          (cont.new $new-stubborn (ref.func $stubborn)))))
    (loop $next
      (block $waits (result (ref $task))
        (return (resume_throw $task $cancel (on $wait $waits) (local.get $task))))
      (local.set $task)
      (br $next))
    (unreachable)))
