;; Instances share the tables and memories that they import.
;; A function in a shared table runs in its own instance.

(module $A
  (memory (export "memory") 1 3)
  (table (export "table") 2 10 funcref)
  (global $name i32 (i32.const 1))
  (func $who (result i32) (global.get $name))
  (elem (i32.const 0) $who)
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "store") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
  (func (export "who") (param i32) (result i32) (call_indirect (result i32) (local.get 0)))
  (func (export "size") (result i32) (table.size 0))
  (func (export "clear") (param i32) (table.set 0 (local.get 0) (ref.null func))))
(register "A" $A)

(module $B
  (import "A" "memory" (memory 1))
  (import "A" "table" (table 2 funcref))
  (import "A" "store" (func $store (param i32 i32)))
  (global $name i32 (i32.const 2))
  (func $who (result i32) (global.get $name))
  (elem (i32.const 1) $who)
  (data (i32.const 8) "\2a\00\00\00")
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "store through A") (param i32 i32) (result i32)
    (call $store (local.get 0) (local.get 1))
    (i32.load (local.get 0)))
  (func (export "who") (param i32) (result i32) (call_indirect (result i32) (local.get 0)))
  (func (export "grow table") (param i32) (result i32)
    (table.grow 0 (ref.func $who) (local.get 0)))
  (func (export "grow memory") (param i32) (result i32) (memory.grow (local.get 0))))

(assert_return (invoke $A "load" (i32.const 8)) (i32.const 42))
(assert_return (invoke $B "load" (i32.const 8)) (i32.const 42))
(assert_return (invoke $A "store" (i32.const 8) (i32.const 7)))
(assert_return (invoke $B "load" (i32.const 8)) (i32.const 7))
(assert_return (invoke $B "store through A" (i32.const 12) (i32.const 9)) (i32.const 9))

(assert_return (invoke $A "who" (i32.const 0)) (i32.const 1))
(assert_return (invoke $A "who" (i32.const 1)) (i32.const 2))
(assert_return (invoke $B "who" (i32.const 0)) (i32.const 1))
(assert_return (invoke $B "who" (i32.const 1)) (i32.const 2))

;; All instances see the growth.
(assert_trap (invoke $A "who" (i32.const 2)) "undefined element")
(assert_return (invoke $B "grow table" (i32.const 3)) (i32.const 2))
(assert_return (invoke $A "size") (i32.const 5))
(assert_return (invoke $A "who" (i32.const 4)) (i32.const 2))
(assert_return (invoke $B "grow table" (i32.const 6)) (i32.const -1))
(assert_return (invoke $A "clear" (i32.const 4)))
(assert_trap (invoke $B "who" (i32.const 4)) "uninitialized element")
(assert_trap (invoke $A "load" (i32.const 65536)) "out of bounds memory access")
(assert_return (invoke $B "grow memory" (i32.const 1)) (i32.const 1))
(assert_return (invoke $A "load" (i32.const 65536)) (i32.const 0))
(assert_return (invoke $B "grow memory" (i32.const 2)) (i32.const -1))

;; A grown memory or table matches imports with its new size as their minimum.
(module
  (import "A" "memory" (memory 2 3))
  (import "A" "table" (table 5 10 funcref)))
(assert_unlinkable (module (import "A" "memory" (memory 3))) "incompatible import type")
(assert_unlinkable (module (import "A" "memory" (memory 1 2))) "incompatible import type")
(assert_unlinkable (module (import "A" "memory" (memory i64 1))) "incompatible import type")
(assert_unlinkable (module (import "A" "table" (table 6 funcref))) "incompatible import type")
(assert_unlinkable (module (import "A" "table" (table 5 9 funcref))) "incompatible import type")
(assert_unlinkable (module (import "A" "table" (table 5 10 externref))) "incompatible import type")
(assert_unlinkable (module (import "A" "table" (memory 1))) "incompatible import type")
(assert_unlinkable (module (import "A" "who" (func))) "incompatible import type")
(assert_unlinkable (module (import "A" "none" (func))) "unknown import")
(assert_unlinkable (module (import "none" "who" (func))) "unknown import")

;; Importing a memory twice gives one memory.
(module
  (import "A" "memory" (memory $a 1))
  (import "A" "memory" (memory $b 1))
  (func (export "alias") (param i32) (result i32)
    (i32.store $a (i32.const 100) (local.get 0))
    (i32.load $b (i32.const 100)))
  (func (export "overlap") (result i32)
    (i32.store $a (i32.const 200) (i32.const 0x04030201))
    (memory.copy $a $b (i32.const 201) (i32.const 200) (i32.const 4))
    (i32.load $b (i32.const 201))))
(assert_return (invoke "alias" (i32.const 33)) (i32.const 33))
(assert_return (invoke "overlap") (i32.const 0x04030201))

;; Importing a table twice gives one table.
(module
  (import "A" "table" (table $a 5 funcref))
  (import "A" "table" (table $b 5 funcref))
  (func $f (result i32) (i32.const 3))
  (elem declare func $f)
  (func (export "alias") (result i32)
    (table.set $a (i32.const 3) (ref.func $f))
    (call_indirect $b (result i32) (i32.const 3)))
  (func (export "overlap") (result i32)
    (table.copy $a $b (i32.const 2) (i32.const 3) (i32.const 2))
    (call_indirect $a (result i32) (i32.const 2))))
(assert_return (invoke "alias") (i32.const 3))
(assert_return (invoke "overlap") (i32.const 3))

;; The host's memory and table can be imported as well.
(module
  (import "spectest" "memory" (memory 1 2))
  (import "spectest" "table" (table 10 20 funcref))
  (func (export "size") (result i32 i32) (memory.size) (table.size 0)))
(assert_return (invoke "size") (i32.const 1) (i32.const 10))
