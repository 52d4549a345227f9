;; `return_call_ref` uses constant stack, within and across instances.
;; This includes functions whose parameters need different amounts of stack.

(module $A
  (type $count (func (param i64) (result i64)))
  (elem declare func $count $few)
  (func $count (export "count") (type $count)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -1))))
    (return_call_ref $count (i64.sub (local.get 0) (i64.const 1)) (ref.func $count)))

  ;; The next function is an argument.
  (type $hop (func (param i64 (ref null $hop)) (result i64)))
  (elem declare func $hop)
  (func $hop (export "hop") (type $hop)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -2))))
    (return_call_ref $hop
      (i64.sub (local.get 0) (i64.const 1))
      (ref.func $hop)
      (local.get 1)))

  (type $few (func (param i64 i32) (result i32)))
  (type $many (func
    (param i64 i32 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 v128 f64 (ref $few))
    (result i32)))
  (elem declare func $many)
  (func $few (export "few") (type $few)
    (if (i64.eqz (local.get 0)) (then (return (local.get 1))))
    (return_call_ref $many
      (i64.sub (local.get 0) (i64.const 1)) (local.get 1)
      (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7)
      (i64.const 8) (i64.const 9) (i64.const 10) (i64.const 11) (i64.const 12) (i64.const 13)
      (v128.const i32x4 1 2 3 4) (f64.const 15) (ref.func $few)
      (ref.func $many)))
  (func $many (type $many)
    (return_call_ref $few
      (local.get 0)
      (i32.add (local.get 1) (i32x4.extract_lane 0 (local.get 14)))
      (local.get 16)))
  (func (export "null") (result i64)
    (return_call_ref $count (i64.const 1) (ref.null $count))))
(register "A" $A)

(assert_return (invoke "count" (i64.const 10_000_000)) (i64.const -1))
(assert_return (invoke "few" (i64.const 1_000_000) (i32.const 5)) (i32.const 1_000_005))
(assert_trap (invoke "null") "null function reference")

(module $B
  (type $hop (func (param i64 (ref null $hop)) (result i64)))
  (import "A" "hop" (func $there (type $hop)))
  (elem declare func $here $there)
  (func $here (type $hop)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -3))))
    (return_call_ref $hop
      (i64.sub (local.get 0) (i64.const 1))
      (ref.func $here)
      (local.get 1)))
  (func (export "start") (param i64) (result i64)
    (return_call_ref $hop (local.get 0) (ref.func $there) (ref.func $here))))

(assert_return (invoke $B "start" (i64.const 1_000_000)) (i64.const -3))
(assert_return (invoke $B "start" (i64.const 1_000_001)) (i64.const -2))

(assert_invalid
  (module
    (type $f (func (result i64)))
    (func (param (ref $f)) (result i32) (return_call_ref $f (local.get 0))))
  "type mismatch")
