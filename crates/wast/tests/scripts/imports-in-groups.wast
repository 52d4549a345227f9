;; A group of imports names its module once; its items have one type each, or one type for all.

(module
  (global (export "one") i32 (i32.const 1))
  (global (export "two") i32 (i32.const 2))
  (func (export "three") (result i32) (i32.const 3))
  (tag (export "tag") (param i32)))
(register "m")

(module
  (import "m" (item "one") (item "two") (global i32))
  (import "m" (item "three" (func $three (result i32))) (item "tag" (tag $tag (param i32))))
  (func (export "sum") (result i32)
    (block $caught (result i32)
      (try_table (catch $tag $caught)
        (throw $tag (i32.add (i32.add (global.get 0) (global.get 1)) (call $three))))
      (unreachable))))
(assert_return (invoke "sum") (i32.const 6))

(assert_unlinkable
  (module (import "m" (item "one") (item "four") (global i32)))
  "unknown import")

;; Groups with items of the dialects.
(module
  (call_tag (export "ask") (param i32) (result i32))
  (event (export "event") (param i32))
  (global (export "one") (mut stackref) (ref.null stack))
  (global (export "two") (mut stackref) (ref.null stack))
  (table (export "stacks") 2 stackref)
  (table (export "more stacks") 2 stackref)
  (func (export "fiber") (param fiberref) (result i32) (ref.is_null (local.get 0))))
(register "d")

(module
  (import "host" (item "new_stack" (func $new (result stackref))))
  (import "d"
    (item "ask" (call_tag $ask (param i32) (result i32)))
    (item "event" (event $event (param i32)))
    (item "fiber" (func $is-null (param fiberref) (result i32))))
  (import "d" (item "one") (item "two") (global (mut stackref)))
  (import "d" (item "stacks") (item "more stacks") (table 2 stackref))
  (global $number (mut i32) (i32.const 7))
  (func (export "call tag") (result i32)
    (answer $ask (result i32)
      (i32.add (i32.const 1))
      within
      (call_stack $ask (i32.const 2))))
  (func (export "event") (result i32)
    (block $caught (result i32)
      (try (throw $event (i32.const 4)) catch $event $caught)
      (unreachable)))
  (func (export "fiber") (result i32) (call $is-null (ref.null fiber)))
  (func (export "slots") (result i32 i32 i32)
    (global.set_cleared 1 (call $new))
    (table.set_cleared 1 (i32.const 0) (global.get_clear 1))
    (ref.is_null (table.get_clear 1 (i32.const 0)))
    (ref.is_null (global.get_clear 1))
    (global.get 2)))
(assert_return (invoke "call tag") (i32.const 3))
(assert_return (invoke "event") (i32.const 4))
(assert_return (invoke "fiber") (i32.const 1))
(assert_return (invoke "slots") (i32.const 0) (i32.const 1) (i32.const 7))

(assert_invalid
  (module
    (import "d" (item "one") (item "two") (global (mut stackref)))
    (func (drop (global.get 1))))
  "a stackref is linear")
(assert_unlinkable
  (module
    (import "host" (item "new_stack" (func $new (result stackref))) (item "log" (func $log)))
    (func (drop (call $new))))
  "unknown import")
