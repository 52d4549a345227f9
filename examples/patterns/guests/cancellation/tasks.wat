;; Cancellation with tasks: the resumption brings a 1, after which the task itself throws the
;; exception that cleans up.
(module
  (type $work (task (param i32)))
  (tag $cancel)
  (global $cleaned (mut i64) (i64.const 0))

  (func $clean (param $by i64)
    (global.set $cleaned (i64.add (global.get $cleaned) (local.get $by))))
  (func $wait (param $me (ref null $work))
    (if (task.suspend $work (local.get $me)) (then (throw $cancel))))
  (func $inner (param $me (ref null $work))
    (block $unwinding (result exnref)
      (try_table (catch_all_ref $unwinding)
        (loop $forever (call $wait (local.get $me)) (br $forever)))
      (unreachable))
    (call $clean (i64.const 2))
    (throw_ref))
  (func $outer (param $me (ref null $work)) (param $cancel i32)
    (block $cancelled
      (try_table (catch $cancel $cancelled) (call $inner (local.get $me))))
    (call $clean (i64.const 1)))

  (func (export "run") (param $n i64) (result i64)
    (local $work (ref null $work))
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (local.set $work (task.new $work $outer))
          (task.resume $work (local.get $work) (i32.const 0))
          (task.resume $work (local.get $work) (i32.const 1))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (global.get $cleaned)))
