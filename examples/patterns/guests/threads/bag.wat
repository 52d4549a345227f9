;; Lightweight threads in the bag of stacks. The stack of the scheduler is in a global while a
;; thread runs.
(module
  (rec
    (type $thread (stack (ref null $scheduler)))
    (type $scheduler (stack (ref null $thread))))
  (type $new (stack (param i64 i64) (ref null $scheduler)))
  (table $threads 4 (ref null $thread))
  (global $scheduler (mut (ref null $scheduler)) (ref.null $scheduler))
  (global $work (mut i64) (i64.const 0))

  (func $thread (param $number i64) (param $n i64) (param $scheduler (ref null $scheduler))
    (global.set $scheduler (local.get $scheduler))
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (global.set $work
            (i64.add (i64.mul (global.get $work) (i64.const 3)) (local.get $number)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (global.set $scheduler (switch $scheduler (global.get $scheduler)))
          (br $next))))
    (switch_retire $scheduler (global.get $scheduler)))

  (func $schedule
    (local $i i32) (local $live i32) (local $thread (ref null $thread))
    (local.set $live (i32.const 4))
    (loop $next
      (block $gone
        (local.set $thread
          (switch $thread (br_on_null $gone (table.get $threads (local.get $i)))))
        (table.set $threads (local.get $i) (local.get $thread))
        (local.set $live
          (i32.sub (local.get $live) (ref.is_null (local.get $thread)))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $live))))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $threads (local.get $i)
        (stack.bind $new $thread
          (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n)
          (stack.new $new $thread)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $schedule)
    (global.get $work)))
