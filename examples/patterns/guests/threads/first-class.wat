;; Lightweight threads on first-class stacks. The stack of the scheduler is in a global while a
;; thread runs.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $go (param stackref))
  (event $yield (param stackref))
  (event $end)
  (table $threads 4 stackref)
  (global $scheduler (mut stackref) (ref.null stack))
  (global $work (mut i64) (i64.const 0))

  (rout $thread (param $number i64) (param $n i64)
    (block $go (result stackref)
      (try (stack.start) catch $go $go)
      (unreachable))
    (global.set_cleared $scheduler)
    (call $work (local.get $number) (local.get $n)))
  (func $work (param $number i64) (param $n i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (global.set $work
            (i64.add (i64.mul (global.get $work) (i64.const 3)) (local.get $number)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (block $go (result stackref)
            (try (stack.switch $yield (global.get_clear $scheduler)) catch $go $go)
            (unreachable))
          (global.set_cleared $scheduler)
          (br $next))))
    (stack.switch_drop $end (global.get_clear $scheduler)))

  (func $schedule
    (local $i i32) (local $live i32)
    (local.set $live (i32.const 4))
    (loop $next
      (block $gone
        (br_if $gone (table.is_cleared $threads (local.get $i)))
        (block $ended
          (block $yielded (result stackref)
            (try
              (stack.switch $go (table.get_clear $threads (local.get $i)))
              catch $yield $yielded
              catch $end $ended)
            (unreachable))
          (call $put (local.get $i))
          (br $gone))
        (local.set $live (i32.sub (local.get $live) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $live))))
  (func $put (param $thread stackref) (param $i i32)
    (table.set_cleared $threads (local.get $i) (local.get_clear $thread)))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set_cleared $threads (local.get $i)
        (stack.extend $thread
          (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n)
          (call $new-stack)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $schedule)
    (global.get $work)))
