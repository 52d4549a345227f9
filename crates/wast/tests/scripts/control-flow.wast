;; Blocks take parameters and results, branches carry values, and unreachable code is polymorphic.

(module
  ;; br_table branches to labels of one type and drops the values below its operands.
  (func (export "br_table") (param i32) (result i32 i64)
    (block $default (result i32 i64)
      (block $two (result i32 i64)
        (block $one (result i32 i64)
          (f64.const 9) ;; dropped by the branch
          (i32.const 7) (i64.const 70)
          (local.get 0)
          (br_table $one $two $default))
        ;; label 1
        (drop) (drop)
        (return (i32.const 1) (i64.const 10)))
      ;; label 2
      (drop) (drop)
      (br 0 (i32.const 2) (i64.const 20))))

  (func (export "br_table many") (param i32) (result i32)
    (block (block (block (block (block
      (br_table 0 1 2 3 0 1 2 3 0 1 2 3 4 (local.get 0)))
      (return (i32.const 100)))
      (return (i32.const 101)))
      (return (i32.const 102)))
      (return (i32.const 103)))
    (i32.const 104))

  ;; A loop with parameters computes the factorial.
  (func (export "factorial") (param i64) (result i64)
    (i64.const 1)
    (local.get 0)
    (loop $next (param i64 i64) (result i64)
      (local.tee 0)
      (i64.eqz)
      (if (param i64) (result i64)
        (then)
        (else
          (local.get 0)
          (i64.mul)
          (i64.sub (local.get 0) (i64.const 1))
          (br $next)))))

  ;; An `if` without `else` returns its parameters.
  (func (export "if") (param i32 i32) (result i32)
    (local.get 1)
    (local.get 0)
    (if (param i32) (result i32) (then (i32.const 10) (i32.add))))

  ;; br_if keeps its operands when it does not branch.
  (func (export "br_if") (param i32) (result i32 i32)
    (block (result i32 i32)
      (i32.const 1) (i32.const 2)
      (br_if 0 (local.get 0))
      (drop) (drop)
      (i32.const 3) (i32.const 4)))

  (func (export "nested return") (param i32) (result i32)
    (loop
      (block
        (br_if 0 (i32.eqz (local.get 0)))
        (return (i32.const 1)))
      (local.set 0 (i32.const 1))
      (br 0))
    (unreachable))

  ;; Unreachable code may have any type.
  (func (export "unreached") (result i32)
    (return (i32.const 5))
    (drop (i64.add)) (drop (f32.add))
    (br_table 0 (i32.const 1))
    (select)
    (unreachable))
  (func (export "unreached block") (result i32)
    (block (result i32)
      (br 0 (i32.const 6))
      (loop (param i64) (result f32) (drop) (unreachable))
      (drop)
      (i32.const 7)))

  (func (export "select") (param i32) (result i32 f64 v128 funcref externref)
    (select (i32.const 1) (i32.const 2) (local.get 0))
    (select (f64.const 1) (f64.const 2) (local.get 0))
    (select (v128.const i64x2 1 1) (v128.const i64x2 2 2) (local.get 0))
    (select (result funcref) (ref.func 0) (ref.null func) (local.get 0))
    (select (result externref) (ref.null extern) (ref.null extern) (local.get 0)))

  ;; Locals start as zero or null. `local.set` and `local.tee` evaluate their operand before they
  ;; write.
  (func (export "locals") (result i32 i64 f32 f64 v128 funcref externref)
    (local i32 i64 f32 f64 v128 funcref externref)
    (local.get 0) (local.get 1) (local.get 2) (local.get 3)
    (local.get 4) (local.get 5) (local.get 6))
  (func (export "swap") (param i32 i32) (result i32 i32)
    (local.get 1) (local.get 0)
    (local.set 1) (local.set 0)
    (local.get 0) (local.get 1))
  (func (export "before") (param i32) (result i32 i32)
    (local.get 0)
    (local.set 0 (i32.const 9))
    (local.get 0)))

(assert_return (invoke "br_table" (i32.const 0)) (i32.const 1) (i64.const 10))
(assert_return (invoke "br_table" (i32.const 1)) (i32.const 2) (i64.const 20))
(assert_return (invoke "br_table" (i32.const 2)) (i32.const 7) (i64.const 70))
(assert_return (invoke "br_table" (i32.const -1)) (i32.const 7) (i64.const 70))
(assert_return (invoke "br_table many" (i32.const 0)) (i32.const 100))
(assert_return (invoke "br_table many" (i32.const 6)) (i32.const 102))
(assert_return (invoke "br_table many" (i32.const 11)) (i32.const 103))
(assert_return (invoke "br_table many" (i32.const 12)) (i32.const 104))
(assert_return (invoke "br_table many" (i32.const 0x80000000)) (i32.const 104))
(assert_return (invoke "factorial" (i64.const 0)) (i64.const 1))
(assert_return (invoke "factorial" (i64.const 20)) (i64.const 2432902008176640000))
(assert_return (invoke "if" (i32.const 0) (i32.const 5)) (i32.const 5))
(assert_return (invoke "if" (i32.const 1) (i32.const 5)) (i32.const 15))
(assert_return (invoke "br_if" (i32.const 0)) (i32.const 3) (i32.const 4))
(assert_return (invoke "br_if" (i32.const -1)) (i32.const 1) (i32.const 2))
(assert_return (invoke "nested return" (i32.const 0)) (i32.const 1))
(assert_return (invoke "unreached") (i32.const 5))
(assert_return (invoke "unreached block") (i32.const 6))
(assert_return (invoke "select" (i32.const 1))
  (i32.const 1) (f64.const 1) (v128.const i64x2 1 1) (ref.func) (ref.null extern))
(assert_return (invoke "select" (i32.const 0))
  (i32.const 2) (f64.const 2) (v128.const i64x2 2 2) (ref.null func) (ref.null extern))
(assert_return (invoke "locals")
  (i32.const 0) (i64.const 0) (f32.const 0) (f64.const 0) (v128.const i64x2 0 0)
  (ref.null func) (ref.null extern))
(assert_return (invoke "swap" (i32.const 1) (i32.const 2)) (i32.const 2) (i32.const 1))
(assert_return (invoke "before" (i32.const 1)) (i32.const 1) (i32.const 9))

;; Operands are evaluated from left to right.
(module
  (global $log (mut i32) (i32.const 0))
  (func $note (param i32) (result i32)
    (global.set $log
      (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0)))
    (local.get 0))
  (func $three (param i32 i32 i32))
  (func (export "order") (result i32)
    (call $three
      (call $note (i32.const 1))
      (i32.sub (call $note (i32.const 2)) (call $note (i32.const 3)))
      (select (call $note (i32.const 4)) (call $note (i32.const 5)) (call $note (i32.const 6))))
    (global.get $log)))
(assert_return (invoke "order") (i32.const 123456))
