;; Lightweight threads as fibers: each dismounts itself, and the scheduler mounts them in turn.
(module
  (tag $go)
  (tag $yield)
  (tag $end)
  (table $threads 4 fiberref)
  (global $work (mut i64) (i64.const 0))

  (func $thread (param $number i64) (param $n i64) (param $me fiberref)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (global.set $work
            (i64.add (i64.mul (global.get $work) (i64.const 3)) (local.get $number)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (fiber.dismount $yield (on $go $next) (local.get $me))
          (unreachable)))))

  (func $schedule
    (local $i i32) (local $live i32)
    (local.set $live (i32.const 4))
    (loop $next
      (block $yielded
        (block $ended
          (fiber.mount $go (on $yield $yielded) (on $end $ended)
            (br_on_null $yielded (table.get $threads (local.get $i))))
          (unreachable))
        (table.set $threads (local.get $i) (ref.null fiber))
        (local.set $live (i32.sub (local.get $live) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $live))))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $threads (local.get $i)
        (fiber.new $end (on $go $thread)
          (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $schedule)
    (global.get $work)))
