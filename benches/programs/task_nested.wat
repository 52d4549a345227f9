;; Suspends a task from inside nested resumes, and resumes it: the chain up to the task is suspended
;; as one.
;; One operation is one resume and one suspend that carries an i64.
(module
  (type $generator (func (result i64)))
  (type $task (cont $generator))
  (type $begin (func (param (ref null $task) i32) (result i64)))
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (import "ropewalk:task" "new" (func $new (param i32 (ref $begin)) (result (ref $task))))
  (import "ropewalk:task" "resume" (func $resume (param (ref null $task)) (result i64)))
  (import "ropewalk:task" "suspend" (func $suspend (param (ref null $task) i64)))
  (global $self (mut (ref null $task)) (ref.null $task))
  (elem declare func $inside $count)

  ;; Does the work inside of nested resumes.
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (return_call $work)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $count (type $begin) (param $self (ref null $task)) (param $depth i32) (result i64)
    (global.set $self (local.get $self))
    (call $inside (local.get $depth))
    (unreachable))

  (func $work
    (local $i i64)
    (local $self (ref null $task))
    (local.set $self (global.get $self))
    (loop $next
      (call $suspend (local.get $self) (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func $times (param $n i64) (param $depth i32) (result i64)
    (local $generator (ref null $task))
    (local $sum i64)
    (local.set $generator (call $new (local.get $depth) (ref.func $count)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum (i64.add (local.get $sum) (call $resume (local.get $generator))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "depth_0") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 0)))

  (func (export "depth_1") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1)))

  (func (export "depth_10") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 10)))

  (func (export "depth_100") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 100)))

  (func (export "depth_1000") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1000))))
