;; `"host" "new_stack"` is an import like others: what is registered under that name is
;; called, and may count, refuse or choose the ground. If nothing is, the engine gives
;; blank stacks.

(module $user
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e)
  (func (export "ground") (stack.switch_drop $e (call $new)))
  (func (export "is null") (result i32) (ref.is_null (call $new))))
(assert_return (invoke "is null") (i32.const 0))
(assert_trap (invoke "ground") "event reached the ground of a stack")

;; It is a function as any other: it can be exported, referred to and called indirectly.
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (type $f (func (result stackref)))
  (table $t 1 funcref)
  (elem (table $t) (i32.const 0) func $new)
  (export "new" (func $new))
  (func (export "by reference") (result i32)
    (ref.is_null (call_ref $f (ref.func $new))))
  (func (export "by a table") (result i32)
    (ref.is_null (call_indirect $t (type $f) (i32.const 0)))))
(assert_return (invoke "by reference") (i32.const 0))
(assert_return (invoke "by a table") (i32.const 0))

;; One that counts, refuses every third time, and has a ground of its own.
(module $host
  (import "host" "new_stack" (func $blank (result stackref)))
  (global $count (mut i32) (i32.const 0))
  (tag $grounded (export "grounded"))
  (rout $ground
    (block $any (try_table (catch_all $any) (stack.start)) (unreachable))
    (global.set $count (i32.add (global.get $count) (i32.const 100)))
    (unreachable))
  (func (export "new_stack") (result stackref)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (if (i32.eqz (i32.rem_u (global.get $count) (i32.const 3)))
      (then (return (ref.null stack))))
    (stack.extend $ground (call $blank)))
  (func (export "count") (result i32) (global.get $count)))
(register "host" $host)

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e)
  (func (export "ground") (stack.switch_drop $e (call $new)))
  (func (export "is null") (result i32) (ref.is_null (call $new))))
(assert_return (invoke "is null") (i32.const 0))
(assert_trap (invoke "ground") "unreachable")
(assert_return (invoke $host "count") (i32.const 102))
(assert_return (invoke "is null") (i32.const 0))
(assert_return (invoke "is null") (i32.const 0))
(assert_return (invoke "is null") (i32.const 1))

;; Whoever was linked before keeps what it had.
(assert_trap (invoke $user "ground") "event reached the ground of a stack")

;; One that traps.
(module $traps (func (export "new_stack") (result stackref) (unreachable)))
(register "host" $traps)
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (func (export "new") (drop (call $new))))
(assert_trap (invoke "new") "unreachable")

;; One of another type.
(module $other (func (export "new_stack") (result i32) (i32.const 1)))
(register "host" $other)
(assert_unlinkable
  (module (import "host" "new_stack" (func $new (result stackref))))
  "incompatible import type")
