;; Deep recursion exhausts the stack and traps; the next call works.

(module
  (func $endless (export "endless") (call $endless))

  (func $even (export "mutual") (param i32) (result i32)
    (i32.add (i32.const 1) (call $odd (local.get 0))))
  (func $odd (param i32) (result i32)
    (i32.add (i32.const 1) (call $even (local.get 0))))

  (table funcref (elem $indirect))
  (func $indirect (export "indirect") (call_indirect (i32.const 0)))

  (func $wide (export "wide") (param i64 i64 i64 i64 i64 i64 i64 i64 v128 v128)
    (call $wide
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
      (local.get 5) (local.get 6) (local.get 7) (local.get 8) (local.get 9)))

  ;; The depth is recorded in a global, which outlives the trap.
  (global $depth (export "depth") (mut i32) (i32.const 0))
  (func $count (export "count")
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (call $count))
  (func (export "reset") (global.set $depth (i32.const 0)))
  (func (export "deep enough") (result i32)
    (i32.gt_u (global.get $depth) (i32.const 1000)))

  ;; Finite recursion: the sum of the numbers up to n.
  (func $sum (export "sum") (param i64) (result i64)
    (if (result i64) (i64.eqz (local.get 0))
      (then (i64.const 0))
      (else
        (i64.add
          (local.get 0)
          (call $sum (i64.sub (local.get 0) (i64.const 1))))))))

(assert_return (invoke "sum" (i64.const 5000)) (i64.const 12502500))
(assert_exhaustion (invoke "endless") "call stack exhausted")
(assert_return (invoke "sum" (i64.const 5000)) (i64.const 12502500))
(assert_exhaustion (invoke "mutual" (i32.const 1)) "call stack exhausted")
(assert_return (invoke "sum" (i64.const 5000)) (i64.const 12502500))
(assert_exhaustion (invoke "indirect") "call stack exhausted")
(assert_return (invoke "sum" (i64.const 5000)) (i64.const 12502500))
(assert_exhaustion
  (invoke "wide"
    (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5)
    (i64.const 6) (i64.const 7) (i64.const 8)
    (v128.const i64x2 9 10) (v128.const i64x2 11 12))
  "call stack exhausted")
(assert_return (invoke "sum" (i64.const 5000)) (i64.const 12502500))

;; Repeated exhaustion has no lasting effect.
(assert_exhaustion (invoke "count") "call stack exhausted")
(assert_return (invoke "deep enough") (i32.const 1))
(assert_return (invoke "reset"))
(assert_exhaustion (invoke "count") "call stack exhausted")
(assert_return (invoke "deep enough") (i32.const 1))
(assert_return (invoke "reset"))
(assert_exhaustion (invoke "count") "call stack exhausted")
(assert_return (invoke "deep enough") (i32.const 1))

;; Through another instance, and in a start function.
(module $A
  (table (export "table") 1 funcref)
  (func (export "call") (call_indirect (i32.const 0))))
(register "A" $A)
(module
  (import "A" "table" (table 1 funcref))
  (import "A" "call" (func $call))
  (func $back (call $call))
  (elem (i32.const 0) $back)
  (func (export "around") (call $call)))
(assert_exhaustion (invoke "around") "call stack exhausted")
(assert_exhaustion (invoke $A "call") "call stack exhausted")

(assert_trap (module (func $f (call $f)) (start $f)) "call stack exhausted")

;; A host call at the end of the stack.
(module
  (import "spectest" "print_i32" (func $print (param i32)))
  (func $f (export "f") (param i32)
    (call $print (local.get 0))
    (call $f (i32.add (local.get 0) (i32.const 1)))
    (call $print (local.get 0))))
(assert_exhaustion (invoke "f" (i32.const 0)) "call stack exhausted")
