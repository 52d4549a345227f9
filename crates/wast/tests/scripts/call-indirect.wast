;; `call_indirect` calls by structure of type, from any table, and fails in
;; three ways.

(module
  (type $unary (func (param i32) (result i32)))
  (type $same (func (param i32) (result i32)))
  (type $other (func (param i64) (result i32)))
  (type $pair (func (result i32 i64)))

  (table $t 6 6 funcref)
  (table $u 2 2 funcref)
  (elem (table $t) (i32.const 0) func $double $square $pair)
  (elem (table $u) (i32.const 1) func $negate)

  (func $double (type $unary) (i32.shl (local.get 0) (i32.const 1)))
  (func $square (type $same) (i32.mul (local.get 0) (local.get 0)))
  (func $negate (type $unary) (i32.sub (i32.const 0) (local.get 0)))
  (func $pair (type $pair) (i32.const 1) (i64.const 2))

  (func (export "t") (param i32 i32) (result i32)
    (call_indirect $t (type $same) (local.get 1) (local.get 0)))
  (func (export "u") (param i32 i32) (result i32)
    (call_indirect $u (type $unary) (local.get 1) (local.get 0)))
  (func (export "other") (param i32) (result i32)
    (call_indirect $t (type $other) (i64.const 1) (local.get 0)))
  (func (export "pair") (param i32) (result i32 i64)
    (call_indirect $t (type $pair) (local.get 0)))
  (func (export "set null") (param i32) (table.set $t (local.get 0) (ref.null func)))
  (func (export "set") (param i32 i32)
    (table.set $t (local.get 0) (table.get $t (local.get 1)))))

(assert_return (invoke "t" (i32.const 0) (i32.const 7)) (i32.const 14))
(assert_return (invoke "t" (i32.const 1) (i32.const 7)) (i32.const 49))
(assert_return (invoke "u" (i32.const 1) (i32.const 7)) (i32.const -7))
(assert_return (invoke "pair" (i32.const 2)) (i32.const 1) (i64.const 2))

(assert_trap (invoke "t" (i32.const 6) (i32.const 7)) "undefined element")
(assert_trap (invoke "t" (i32.const 0x80000000) (i32.const 7)) "undefined element")
(assert_trap (invoke "u" (i32.const 2) (i32.const 7)) "undefined element")
(assert_trap (invoke "t" (i32.const 3) (i32.const 7)) "uninitialized element")
(assert_trap (invoke "u" (i32.const 0) (i32.const 7)) "uninitialized element")
(assert_trap (invoke "t" (i32.const 2) (i32.const 7)) "indirect call type mismatch")
(assert_trap (invoke "other" (i32.const 0)) "indirect call type mismatch")
(assert_trap (invoke "pair" (i32.const 0)) "indirect call type mismatch")

(assert_return (invoke "set" (i32.const 5) (i32.const 1)))
(assert_return (invoke "t" (i32.const 5) (i32.const 8)) (i32.const 64))
(assert_return (invoke "set null" (i32.const 5)))
(assert_trap (invoke "t" (i32.const 5) (i32.const 8)) "uninitialized element")

;; Types are compared by structure across modules, too, and a function of the
;; host is as good as any.
(module $A
  (table (export "table") 4 funcref)
  (func $f (param i32) (result i32) (i32.add (local.get 0) (i32.const 100)))
  (elem (i32.const 0) $f))
(register "A" $A)
(module
  (import "A" "table" (table 4 funcref))
  (import "spectest" "print_i32" (func $print (param i32)))
  (elem (i32.const 1) $print)
  (type $first (func (param f64)))
  (type $unary (func (param i32) (result i32)))
  (func (export "call") (param i32) (result i32)
    (call_indirect (type $unary) (i32.const 1) (local.get 0)))
  (func (export "print") (param i32)
    (call_indirect (param i32) (i32.const 1) (local.get 0)))
  (func (export "mismatch") (param i32)
    (call_indirect (type $first) (f64.const 1) (local.get 0))))
(assert_return (invoke "call" (i32.const 0)) (i32.const 101))
(assert_trap (invoke "call" (i32.const 1)) "indirect call type mismatch")
(assert_return (invoke "print" (i32.const 1)))
(assert_trap (invoke "print" (i32.const 0)) "indirect call type mismatch")
(assert_trap (invoke "mismatch" (i32.const 1)) "indirect call type mismatch")
(assert_trap (invoke "call" (i32.const 2)) "uninitialized element")
