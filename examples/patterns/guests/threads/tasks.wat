;; Lightweight threads as tasks: each suspends itself, and the scheduler resumes them in turn. A
;; task tells whether it has ended.
(module
  (type $thread (task (result i32)))
  (table $threads 4 (ref null $thread))
  (global $work (mut i64) (i64.const 0))

  (func $thread (param $me (ref null $thread)) (param $number i64) (param $n i64) (result i32)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (global.set $work
            (i64.add (i64.mul (global.get $work) (i64.const 3)) (local.get $number)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (task.suspend $thread (local.get $me) (i32.const 0))
          (br $next))))
    (i32.const 1))

  (func $schedule
    (local $i i32) (local $live i32)
    (local.set $live (i32.const 4))
    (loop $next
      (block $gone
        (br_if $gone
          (i32.eqz
            (task.resume $thread (br_on_null $gone (table.get $threads (local.get $i))))))
        (table.set $threads (local.get $i) (ref.null $thread))
        (local.set $live (i32.sub (local.get $live) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $live))))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $threads (local.get $i)
        (task.new $thread $thread
          (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $schedule)
    (global.get $work)))
