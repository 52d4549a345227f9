;; An arena whose children race, on first-class stacks: when the first child ends, the arena sends
;; the event `$cancel` to the others. A canceled child sends how far it came. The stack of the arena
;; is in a global while a child runs.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $go (param stackref))
  (event $cancel (param stackref))
  (event $pause (param stackref))
  (event $end (param i64))
  (table $children 4 stackref)
  (global $arena (mut stackref) (ref.null stack))

  (rout $child (param $limit i64)
    (block $go (result stackref)
      (try (stack.start) catch $go $go)
      (unreachable))
    (global.set_cleared $arena)
    (call $pauses (local.get $limit)))
  (func $pauses (param $limit i64)
    (local $pauses i64)
    (block $ended
      (block $cancelled (result stackref)
        (loop $next
          (if (i64.lt_u (local.get $pauses) (local.get $limit))
            (then
              (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
              (block $go (result stackref)
                (try
                  (stack.switch $pause (global.get_clear $arena))
                  catch $go $go
                  catch $cancel $cancelled)
                (unreachable))
              (global.set_cleared $arena)
              (br $next))))
        (br $ended))
      (global.set_cleared $arena))
    (stack.switch_drop $end (local.get $pauses) (global.get_clear $arena)))

  (func $race (result i64)
    (local $i i32) (local $result i64)
    (block $ended (result i64)
      (loop $next
        (block $paused (result stackref)
          (try
            (stack.switch $go (table.get_clear $children (local.get $i)))
            catch $pause $paused
            catch $end $ended)
          (unreachable))
        (call $put (local.get $i))
        (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
        (br $next))
      (unreachable))
    (local.set $result (i64.mul (i64.const 1000)))
    (local.set $i (i32.const 0))
    (loop $next
      (if (i32.eqz (table.is_cleared $children (local.get $i)))
        (then
          (block $ended (result i64)
            (try
              (stack.switch $cancel (table.get_clear $children (local.get $i)))
              catch $end $ended)
            (unreachable))
          (local.set $result (i64.add (local.get $result)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (local.get $result))
  (func $put (param $child stackref) (param $i i32)
    (table.set_cleared $children (local.get $i) (local.get_clear $child)))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set_cleared $children (local.get $i)
        (stack.extend $child
          (i64.mul
            (i64.extend_i32_u (i32.sub (i32.const 4) (local.get $i))) (local.get $n))
          (call $new-stack)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $race)))
