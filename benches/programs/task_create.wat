;; Lives of tasks: creates n tasks that return at once.
;; One operation is one task.
(module
  (type $unary (func (param i64) (result i64)))
  (type $task (cont $unary))
  (type $body (func (param (ref null $task) i64) (result i64)))
  (import "ropewalk:task" "new" (func $new (param (ref $body)) (result (ref $task))))
  (import "ropewalk:task" "resume" (func $resume (param (ref null $task) i64) (result i64)))
  (elem declare func $increment)

  (func $increment (type $body) (i64.add (local.get 1) (i64.const 1)))

  (func (export "finish") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (call $resume (call $new (ref.func $increment)) (local.get $n))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
