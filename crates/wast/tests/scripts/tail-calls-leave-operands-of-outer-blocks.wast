;; A tail call discards all operands of its function.
;; Code after the enclosing block, reached on another path, still has the operands of the outer
;; blocks.

(module
  (type $unary (func (param i32) (result i32)))
  (table funcref (elem $double))
  (func $double (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
  (elem declare func $double)

  (func (export "return_call") (param i32) (result i32)
    (i32.const 100)
    (block
      (i64.const 1)
      (br_if 0 (i32.eqz (local.get 0)))
      (f64.const 2)
      (return_call $double (local.get 0)))
    (i32.add (i32.const 1)))

  (func (export "return_call_indirect") (param i32) (result i32)
    (i32.const 100)
    (block
      (br_if 0 (i32.eqz (local.get 0)))
      (return_call_indirect (type $unary) (local.get 0) (i32.const 0)))
    (i32.add (i32.const 1)))

  (func (export "return_call_ref") (param i32) (result i32)
    (i32.const 100)
    (block
      (br_if 0 (i32.eqz (local.get 0)))
      (return_call_ref $unary (local.get 0) (ref.func $double)))
    (i32.add (i32.const 1))))

(assert_return (invoke "return_call" (i32.const 0)) (i32.const 101))
(assert_return (invoke "return_call" (i32.const 4)) (i32.const 8))
(assert_return (invoke "return_call_indirect" (i32.const 0)) (i32.const 101))
(assert_return (invoke "return_call_indirect" (i32.const 4)) (i32.const 8))
(assert_return (invoke "return_call_ref" (i32.const 0)) (i32.const 101))
(assert_return (invoke "return_call_ref" (i32.const 4)) (i32.const 8))
