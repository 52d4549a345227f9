;; Constant expressions may add, subtract and multiply.

(module $A (global (export "base") i32 (i32.const 100)) (global (export "big") i64 (i64.const 7)))
(register "A" $A)

(module
  (global $base (import "A" "base") i32)
  (global $big (import "A" "big") i64)
  (global (export "sum") i32 (i32.add (global.get $base) (i32.const 23)))
  (global (export "wraps") i32 (i32.add (i32.const 0x7fffffff) (i32.const 1)))
  (global (export "difference") i32 (i32.sub (i32.const 1) (global.get $base)))
  (global (export "product") i64 (i64.mul (global.get $big) (i64.const -6)))
  (global (export "nested") i64
    (i64.sub
      (i64.mul (i64.add (global.get $big) (i64.const 3)) (i64.const 10))
      (i64.const 58)))
  (memory 1)
  (table 300 funcref)
  (func $f (result i32) (i32.const 5))
  (data (i32.add (global.get $base) (i32.const 4)) "\2a")
  (elem
    (offset (i32.sub (i32.mul (global.get $base) (i32.const 2)) (i32.const 1)))
    func $f)
  (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "call") (param i32) (result i32) (call_indirect (result i32) (local.get 0))))

(assert_return (get "sum") (i32.const 123))
(assert_return (get "wraps") (i32.const 0x80000000))
(assert_return (get "difference") (i32.const -99))
(assert_return (get "product") (i64.const -42))
(assert_return (get "nested") (i64.const 42))
(assert_return (invoke "load" (i32.const 104)) (i32.const 42))
(assert_return (invoke "call" (i32.const 199)) (i32.const 5))

(assert_trap
  (module
    (global $base (import "A" "base") i32)
    (memory 1)
    (data (i32.mul (global.get $base) (i32.const 1000)) "\01"))
  "out of bounds memory access")

(assert_invalid (module (global i32 (i32.div_u (i32.const 4) (i32.const 2)))) "constant expression")
(assert_invalid (module (global i32 (i32.add (i32.const 4)))) "type mismatch")
(assert_invalid (module (global i32 (i32.const 1) (i32.const 2))) "type mismatch")
