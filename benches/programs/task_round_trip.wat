;; Suspending and resuming a task: the generator of round_trip.wat.
;; One operation is one resume and one suspend that carries an i64.
(module
  (type $generator (func (result i64)))
  (type $task (cont $generator))
  (type $body (func (param (ref null $task)) (result i64)))
  (import "ropewalk:task" "new" (func $new (param (ref $body)) (result (ref $task))))
  (import "ropewalk:task" "resume" (func $resume (param (ref null $task)) (result i64)))
  (import "ropewalk:task" "suspend" (func $suspend (param (ref null $task) i64)))
  (elem declare func $count)

  (func $count (type $body) (param $self (ref null $task)) (result i64)
    (local $i i64)
    (loop $next
      (call $suspend (local.get $self) (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next))
    (unreachable))

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $task))
    (local $sum i64)
    (local.set $generator (call $new (ref.func $count)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum (i64.add (local.get $sum) (call $resume (local.get $generator))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
