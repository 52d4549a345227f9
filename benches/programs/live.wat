;; Many continuations at once: `keep` creates n that suspend, and keeps them in a table. `finish`
;; does the same, and resumes each to its end.
;; One operation is one continuation.
(module
  (type $task (func (param i64)))
  (type $fresh (cont $task))
  (type $rest (func))
  (type $paused (cont $rest))
  (tag $yield (param i64))
  (table $kept 0 (ref null $paused))
  (elem declare func $task)

  (func $task (type $task) (param $number i64)
    (suspend $yield (local.get $number)))

  (func $start (param $number i64) (result i64)
    (local $paused (ref $paused))
    (block $yielded (result i64 (ref $paused))
      (resume $fresh (on $yield $yielded)
        (local.get $number)
        (cont.new $fresh (ref.func $task)))
      (unreachable))
    (local.set $paused)
    (table.set $kept (i32.wrap_i64 (local.get $number)) (local.get $paused)))

  (func $keep (export "keep") (param $n i64) (result i64)
    (local $i i64)
    (local $sum i64)
    (drop (table.grow $kept (ref.null $paused) (i32.wrap_i64 (local.get $n))))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (call $start (local.get $i))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.lt_u (local.get $i) (local.get $n))))
    (local.get $sum))

  (func (export "finish") (param $n i64) (result i64)
    (local $i i64)
    (local $sum i64)
    (local.set $sum (call $keep (local.get $n)))
    (loop $next
      (resume $paused (table.get $kept (i32.wrap_i64 (local.get $i))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.lt_u (local.get $i) (local.get $n))))
    (local.get $sum)))
