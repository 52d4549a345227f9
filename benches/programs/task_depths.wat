;; Two tasks, each suspended inside of nested resumes, switch to each other.
;; One operation is a switch there and one back. In `between`, one task is suspended from inside the
;; resumes, after it has resumed a generator.
(module
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (type $t (task (result i64)))
  (global $a (mut (ref null $t)) (ref.null $t))
  (global $b (mut (ref null $t)) (ref.null $t))
  (global $n (mut i64) (i64.const 0))
  (global $which (mut i32) (i32.const 0))
  (elem declare func $inside $first $second $third $ticks)
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth))
      (then
        (if (i32.eq (global.get $which) (i32.const 0)) (then (return_call $to_b)))
        (if (i32.eq (global.get $which) (i32.const 1)) (then (return_call $to_a)))
        (return_call $yields)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))
  (func $first (param $self (ref null $t)) (result i64)
    (global.set $which (i32.const 0))
    (call $inside (i32.const DEPTH))
    (i64.const 1))
  (func $second (param $self (ref null $t)) (result i64)
    (global.set $which (i32.const 1))
    (call $inside (i32.const DEPTH))
    (i64.const 2))
  (func $to_b
    (loop $next
      (task.switchto $t $t (global.get $a) (global.get $b))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.gt_s (global.get $n) (i64.const 0)))))
  (func $to_a
    (loop $next
      (task.switchto $t $t (global.get $b) (global.get $a))
      (br $next)))
  (func (export "switchto") (param $n i64) (result i64)
    (global.set $n (local.get $n))
    (global.set $a (task.new $t $first))
    (global.set $b (task.new $t $second))
    (task.resume $t (global.get $a)))

  (type $plain (func))
  (type $generator (cont $plain))
  (tag $tick)
  (func $ticks (loop $next (suspend $tick) (br $next)))
  (func $yields
    (local $generator (ref null $generator))
    (local.set $generator (cont.new $generator (ref.func $ticks)))
    (loop $next
      (block $ticked (result (ref $generator))
        (resume $generator (on $tick $ticked) (local.get $generator))
        (unreachable))
      (local.set $generator)
      (task.suspend $t (global.get $a) (i64.const 1))
      (br $next)))
  (func $third (param $self (ref null $t)) (result i64)
    (global.set $which (i32.const 2))
    (call $inside (i32.const DEPTH))
    (i64.const 3))
  (func (export "between") (param $n i64) (result i64)
    (local $sum i64)
    (global.set $a (task.new $t $third))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (task.resume $t (global.get $a))))
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (br_if $next (i64.gt_s (local.get $n) (i64.const 0))))
    (local.get $sum)))
