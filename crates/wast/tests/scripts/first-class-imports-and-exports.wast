;; Events and call tags are imported and exported like tags; stacks and answers cross instances.

(module $lib
  (import "host" "new_stack" (func $new (result stackref)))
  (event $done (export "done") (param i32))
  (event $ready (param stackref))
  (export "ready" (event $ready))
  (call_tag $ask (export "ask") (param i32) (result i32))
  (call_tag $ping)
  (export "ping" (call_tag $ping))
  (global (export "slot") (mut stackref) (ref.null stack))
  (table (export "slots") 2 stackref)
  (rout $says (param $n i32)
    (block $ready (result stackref)
      (try (stack.start) catch $ready $ready)
      (unreachable))
    (call $tell (local.get $n)))
  (func $tell (param $to stackref) (param $n i32)
    (stack.switch_drop $done (local.get $n) (local.get_clear $to)))
  (func (export "make") (param $n i32) (result stackref)
    (stack.extend $says (local.get $n) (call $new)))
  (func (export "asks") (param i32) (result i32) (call_stack $ask (local.get 0)))
  (func (export "throws") (throw $done (i32.const 6))))
(register "lib" $lib)

(module
  (import "lib" "done" (event $done (param i32)))
  (event $ready (import "lib" "ready") (param stackref))
  (import "lib" "ask" (call_tag $ask (param i32) (result i32)))
  (call_tag $ping (import "lib" "ping"))
  (import "lib" "done" (tag $done-tag (param i32)))
  (tag $done-too (import "lib" "done") (param i32))
  (import "lib" "make" (func $make (param i32) (result stackref)))
  (import "lib" "asks" (func $asks (param i32) (result i32)))
  (import "lib" "throws" (func $throws))
  (import "lib" "slot" (global $slot (mut stackref)))
  (import "lib" "slots" (table $slots 2 stackref))
  (event $private (param i32))
  (call_tag $other (param i32) (result i32))

  (func (export "a stack of the other instance") (result i32)
    (block $done (result i32)
      (try (stack.switch $ready (call $make (i32.const 5))) catch $private $done catch $done $done)
      (unreachable)))
  (func (export "slots") (result i32)
    (global.set_cleared $slot (call $make (i32.const 8)))
    (table.set_cleared $slots (i32.const 1) (global.get_clear $slot))
    (block $done (result i32)
      (try (stack.switch $ready (table.get_clear $slots (i32.const 1))) catch $done $done)
      (unreachable)))
  (func (export "as a tag") (result i32)
    (block $tag (result i32)
      (try_table (catch $private $tag) (catch $done-tag $tag)
        (stack.switch $ready (call $make (i32.const 9))))
      (unreachable)))
  (func (export "as another tag") (result i32)
    (block $tag (result i32)
      (try_table (catch $done-too $tag) (call $throws))
      (unreachable)))
  (func (export "answer to the other instance") (result i32)
    (answer $other (result i32) (unreachable) within
      (answer $ask (result i32) (i32.add (i32.const 1)) within
        (call $asks (i32.const 2)))))
  (func (export "another call tag") (result i32)
    (answer $other (result i32) within (call $asks (i32.const 2))))
  (func (export "without results") (answer $ping within (call_stack $ping))))

(assert_return (invoke "a stack of the other instance") (i32.const 5))
(assert_return (invoke "slots") (i32.const 8))
(assert_return (invoke "as a tag") (i32.const 9))
(assert_return (invoke "as another tag") (i32.const 6))
(assert_return (invoke "answer to the other instance") (i32.const 3))
(assert_trap (invoke "another call tag") "no answer on the stack")
(assert_return (invoke "without results"))

;; A tag can be imported as an event.
(module $tags (tag (export "t") (param i64)))
(register "tags" $tags)
(module
  (import "tags" "t" (event $t (param i64)))
  (func (export "throw") (result i64)
    (block $t (result i64)
      (try (throw $t (i64.const 4)) catch $t $t)
      (unreachable))))
(assert_return (invoke "throw") (i64.const 4))

;; Types and kinds must match.
(assert_unlinkable
  (module (import "lib" "done" (event $e (param i64))))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "ask" (call_tag $t (param i32))))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "ask" (call_tag $t (param i32) (result i64))))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "ping" (event $e)))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "done" (call_tag $t (param i32))))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "ready" (event $e (param fiberref))))
  "incompatible import type")
(assert_unlinkable
  (module (import "lib" "nothing" (event $e)))
  "unknown import")
;; The host provides only "new_stack".
(assert_unlinkable
  (module (import "host" "old_stack" (func $f (result stackref))))
  "unknown import")
