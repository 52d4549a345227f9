;; `"host" "new_stack"` is an ordinary import, which the script may define.
;; A definition may count, return null or choose the ground. Without a definition, the engine
;; provides blank stacks.

(module $user
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e)
  (func (export "ground") (stack.switch_drop $e (call $new)))
  (func (export "is null") (result i32) (ref.is_null (call $new))))
(assert_return (invoke "is null") (i32.const 0))
(assert_trap (invoke "ground") "event reached the ground of a stack")

;; It is an ordinary function: it can be exported, referenced and called indirectly.
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

;; This definition counts, returns null every third time, and has its own ground.
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

;; Modules that were linked earlier keep the function that they were linked with.
(assert_trap (invoke $user "ground") "event reached the ground of a stack")

;; This definition traps.
(module $traps (func (export "new_stack") (result stackref) (unreachable)))
(register "host" $traps)
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (func (export "new") (drop (call $new))))
(assert_trap (invoke "new") "unreachable")

;; This definition has another type.
(module $other (func (export "new_stack") (result i32) (i32.const 1)))
(register "host" $other)
(assert_unlinkable
  (module (import "host" "new_stack" (func $new (result stackref))))
  "incompatible import type")
