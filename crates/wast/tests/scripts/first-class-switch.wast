;; A switch suspends the current stack, and the target stack receives an event.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $ping (param i32 stackref))
  (event $pong (param i32 stackref))
  (event $plain (param i32))
  (event $stop (param stackref))
  (event $end (param i32))
  (global $kept (mut stackref) (ref.null stack))
  (global $log (mut i32) (i32.const 0))
  (func $log (param i32)
    (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0))))
  (func (export "log") (result i32) (global.get $log) (global.set $log (i32.const 0)))

  ;; ---- stack.switch: replies with twice the value that it receives, until it receives $stop.

  (func $doubles (param $n i32) (param $from stackref)
    (local $sum i32)
    (block $stop (result stackref)
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (local.get $n)))
        (block $ping (result i32 stackref)
          (try
            (stack.switch $pong
              (i32.mul (local.get $n) (i32.const 2)) (local.get_clear $from))
            catch $ping $ping
            catch $stop $stop)
          (unreachable))
        (local.set_cleared $from)
        (local.set $n)
        (br $next))
      (unreachable))
    (local.set_cleared $from)
    (stack.switch_drop $end (local.get $sum) (local.get_clear $from)))
  (func $start (param $n i32) (result i32)
    (local $s stackref)
    (block $pong (result i32 stackref)
      (try (stack.switch_call $doubles (local.get $n) (call $new)) catch $pong $pong)
      (unreachable))
    (global.set_cleared $kept))
  (func $next (param $n i32) (result i32)
    (block $pong (result i32 stackref)
      (try (stack.switch $ping (local.get $n) (global.get_clear $kept)) catch $pong $pong)
      (unreachable))
    (global.set_cleared $kept))
  (func $stop (result i32)
    (block $end (result i32)
      (try (stack.switch $stop (global.get_clear $kept)) catch $end $end)
      (unreachable)))
  (func (export "back and forth") (result i32 i32 i32 i32)
    (call $start (i32.const 1))
    (call $next (i32.const 10))
    (call $next (i32.const 100))
    (call $stop))
  ;; Another activation continues a suspended stack.
  (func (export "start") (param i32) (result i32) (call $start (local.get 0)))
  (func (export "next") (param i32) (result i32) (call $next (local.get 0)))
  (func (export "stop") (result i32) (call $stop))
  (func (export "many") (param $n i32) (result i32)
    (drop (call $start (i32.const 0)))
    (loop $again
      (drop (call $next (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (call $stop))

  ;; ---- stack.switch_call: the function runs on the target stack with the previous stack as an
  ;; argument. Its results are the event's payload there.

  (func $gives (param $n i32) (param $left stackref) (result i32)
    (call $log (i32.const 2))
    (global.set_cleared $kept (local.get_clear $left))
    (i32.add (local.get $n) (i32.const 1)))
  (func $caller (param $main stackref)
    (call $log (i32.const 1))
    (block $stop (result stackref)
      (try
        (stack.switch_call $gives $plain (i32.const 6) (local.get_clear $main))
        catch $stop $stop)
      (unreachable))
    (call $log (i32.const 4))
    (local.set_cleared $main)
    (stack.switch_drop $end (i32.const 9) (local.get_clear $main)))
  (func (export "switch_call") (result i32 i32)
    (block $plain (result i32)
      (try (stack.switch_call $caller (call $new)) catch $plain $plain)
      (unreachable))
    (call $log (i32.const 3))
    (call $stop))

  ;; The function sees the answers of the stack it runs on, which also catches its exceptions.
  (tag $x (param i32))
  (call_tag $where (result i32))
  (func $throws (param $left stackref) (throw $x (call_stack $where)))
  (func $sends-thrower (param $main stackref)
    (answer $where (i32.const 2) within
      (stack.switch_call $throws (local.get_clear $main))))
  (func (export "switch_call that throws") (result i32)
    (answer $where (result i32) (i32.const 1) within
      (block $x (result i32)
        (try_table (catch $x $x)
          (stack.switch_call $sends-thrower (call $new)))
        (unreachable))))

  ;; Without an event, returning traps.
  (func $returns (param $left stackref))
  (func $sends-returner (param $main stackref)
    (stack.switch_call $returns (local.get_clear $main)))
  (func (export "switch_call that returns")
    (stack.switch_call $sends-returner (call $new)))

  ;; ---- stack.switch_drop: the current stack is freed.

  (func $leaves (param $main stackref)
    (stack.switch_drop $end (i32.const 3) (local.get_clear $main)))
  (func (export "switch_drop") (param $n i32) (result i32)
    (local $sum i32)
    (loop $next
      (block $end (result i32)
        (try (stack.switch_call $leaves (call $new)) catch $end $end)
        (unreachable))
      (local.set $sum (i32.add (local.get $sum)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (local.get $sum))

  ;; ---- Plain form.

  (func $leaves-plain (param $main stackref)
    i32.const 5
    local.get_clear $main
    stack.switch_drop $end)
  (func (export "plain") (result i32)
    block $end (result i32)
      try
        call $new
        stack.switch_call $leaves-plain
      catch $end $end
      end
      unreachable
    end)

  ;; ---- Three stacks in a ring.

  (event $token (param i32 stackref))
  (global $a (mut stackref) (ref.null stack))
  (global $main (mut stackref) (ref.null stack))
  ;; Passes the token to the suspended stack, and is suspended itself.
  (func $member (param $n i32) (param $from stackref)
    (loop $next
      (call $log (local.get $n))
      (block $token (result i32 stackref)
        (try
          (stack.switch $token (i32.const 0) (local.get_clear $from))
          catch $token $token)
        (unreachable))
      (local.set_cleared $from)
      (drop)
      (br $next)))
  (func (export "ring") (result i32)
    (local $one stackref) (local $two stackref)
    (block $token (result i32 stackref)
      (try (stack.switch_call $member (i32.const 1) (call $new)) catch $token $token)
      (unreachable))
    (local.set_cleared $one)
    (drop)
    (block $token (result i32 stackref)
      (try (stack.switch_call $member (i32.const 2) (call $new)) catch $token $token)
      (unreachable))
    (local.set_cleared $two)
    (drop)
    (block $token (result i32 stackref)
      (try (stack.switch $token (i32.const 0) (local.get_clear $one)) catch $token $token)
      (unreachable))
    (local.set_cleared $one)
    (drop)
    (block $token (result i32 stackref)
      (try (stack.switch $token (i32.const 0) (local.get_clear $two)) catch $token $token)
      (unreachable))
    (local.set_cleared $two)
    (drop)
    (global.get $log)
    (global.set $log (i32.const 0))))

(assert_return (invoke "back and forth")
  (i32.const 2) (i32.const 20) (i32.const 200) (i32.const 111))
(assert_return (invoke "start" (i32.const 3)) (i32.const 6))
(assert_return (invoke "next" (i32.const 4)) (i32.const 8))
(assert_return (invoke "next" (i32.const 5)) (i32.const 10))
(assert_return (invoke "stop") (i32.const 12))
(assert_trap (invoke "stop") "null stack reference")
(assert_return (invoke "many" (i32.const 10000)) (i32.const 10000))
(assert_return (invoke "switch_call") (i32.const 7) (i32.const 9))
(assert_return (invoke "log") (i32.const 1234))
(assert_return (invoke "switch_call that throws") (i32.const 1))
(assert_trap (invoke "switch_call that returns") "function returned to a suspended stack")
(assert_return (invoke "switch_drop" (i32.const 1000)) (i32.const 3000))
(assert_return (invoke "plain") (i32.const 5))
(assert_return (invoke "ring") (i32.const 1212))
