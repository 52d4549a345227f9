;; A scheduler: it resumes the tasks in a table in turn; each yields n times and returns.
;; One operation is one yield of one task.
(module
  (type $task (func (param i64)))
  (type $fresh (cont $task))
  (type $rest (func))
  (type $paused (cont $rest))
  (tag $yield)
  (table $tasks 10000 (ref null $paused))
  (global $sum (mut i64) (i64.const 0))
  (elem declare func $task)

  (func $task (type $task) (param $n i64)
    (loop $next
      (suspend $yield)
      (global.set $sum (i64.add (global.get $sum) (local.get $n)))
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (br_if $next (i64.ne (local.get $n) (i64.const 0)))))

  (func $spawn (param $n i64) (param $task i32)
    (table.set $tasks
      (local.get $task)
      (cont.bind $fresh $paused (local.get $n) (cont.new $fresh (ref.func $task)))))

  ;; Whether the task is still suspended after its turn.
  (func $turn (param $task i32) (result i32)
    (local $paused (ref $paused))
    (block $yielded (result (ref $paused))
      (resume $paused (on $yield $yielded) (table.get $tasks (local.get $task)))
      (return (i32.const 0)))
    (local.set $paused)
    (table.set $tasks (local.get $task) (local.get $paused))
    (i32.const 1))

  (func $schedule (param $n i64) (param $tasks i32) (result i64)
    (local $task i32)
    (local $left i32)
    (loop $next
      (call $spawn (local.get $n) (local.get $task))
      (local.set $task (i32.add (local.get $task) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $task) (local.get $tasks))))
    (loop $round
      (local.set $task (i32.const 0))
      (local.set $left (i32.const 0))
      (loop $next
        (local.set $left (i32.add (local.get $left) (call $turn (local.get $task))))
        (local.set $task (i32.add (local.get $task) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $task) (local.get $tasks))))
      (br_if $round (local.get $left)))
    (global.get $sum))

  (func (export "of_10") (param $n i64) (result i64)
    (call $schedule (local.get $n) (i32.const 10)))

  (func (export "of_10_000") (param $n i64) (result i64)
    (call $schedule (local.get $n) (i32.const 10000))))
