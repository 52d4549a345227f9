;; Every kind of tail call runs in constant stack.

(module
  (func $count (export "count") (param i64) (result i64)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -1))))
    (return_call $count (i64.sub (local.get 0) (i64.const 1))))

  (func $even (export "even") (param i64) (result i32)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 1))))
    (return_call $odd (i64.sub (local.get 0) (i64.const 1))))
  (func $odd (param i64) (result i32)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 0))))
    (return_call $even (i64.sub (local.get 0) (i64.const 1))))

  (type $counter (func (param i64) (result i64)))
  (table funcref (elem $indirect $count $even))
  (func $indirect (export "indirect") (type $counter)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -2))))
    (return_call_indirect (type $counter)
      (i64.sub (local.get 0) (i64.const 1)) (i32.const 0)))
  (func (export "return_call_indirect") (param i32) (result i64)
    (return_call_indirect (type $counter) (i64.const 10) (local.get 0))))

(assert_return (invoke "count" (i64.const 0)) (i64.const -1))
(assert_return (invoke "count" (i64.const 10_000_000)) (i64.const -1))
(assert_return (invoke "even" (i64.const 10_000_000)) (i32.const 1))
(assert_return (invoke "even" (i64.const 9_999_999)) (i32.const 0))
(assert_return (invoke "indirect" (i64.const 10_000_000)) (i64.const -2))

;; `return_call_indirect` traps like `call_indirect`.
(assert_return (invoke "return_call_indirect" (i32.const 1)) (i64.const -1))
(assert_trap (invoke "return_call_indirect" (i32.const 2)) "indirect call type mismatch")
(assert_trap (invoke "return_call_indirect" (i32.const 3)) "undefined element")

;; Between functions whose parameters need different amounts of stack.
(module
  (func $few (export "few") (param $n i64) (result i64)
    (if (i64.eqz (local.get $n)) (then (return (i64.const 1))))
    (return_call $many
      (i64.sub (local.get $n) (i64.const 1))
      (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6)
      (i64.const 7) (i64.const 8) (i64.const 9) (i64.const 10) (i64.const 11) (i64.const 12)
      (f32.const 1) (f64.const 2) (v128.const i32x4 1 2 3 4)))
  (func $many
    (param $n i64)
    (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64)
    (param $f f32) (param $d f64) (param $v v128)
    (result i64)
    (if (i64.eqz (local.get $n))
      (then
        (return
          (i64.add
            (i64.add (local.get 1) (local.get 12))
            (i64.add
              (i64.trunc_f64_s (f64.add (f64.promote_f32 (local.get $f)) (local.get $d)))
              (i64.extend_i32_u (i32x4.extract_lane 3 (local.get $v))))))))
    (return_call $few (i64.sub (local.get $n) (i64.const 1)))))

(assert_return (invoke "few" (i64.const 1_000_000)) (i64.const 1))
(assert_return (invoke "few" (i64.const 1_000_001)) (i64.const 20))

;; A function with live values of its own may be in between.
(module
  (func (export "between") (param i32) (result i32)
    (i32.add
      (i32.mul (local.get 0) (i32.const 1000))
      (call $down (local.get 0))))
  (func $down (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 5))))
    (return_call $down (i32.sub (local.get 0) (i32.const 1)))))
(assert_return (invoke "between" (i32.const 1000)) (i32.const 1000005))

;; Between instances with separate globals.
(module $A
  (table (export "table") 2 funcref)
  (global $calls (mut i32) (i32.const 0))
  (type $f (func (param i32) (result i32)))
  (func $hop (export "hop") (type $f)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.eqz (local.get 0)) (then (return (global.get $calls))))
    (return_call_indirect (type $f)
      (i32.sub (local.get 0) (i32.const 1)) (i32.const 1)))
  (elem (i32.const 0) $hop))
(register "A" $A)
(module $B
  (import "A" "table" (table 2 funcref))
  (import "A" "hop" (func $hop (param i32) (result i32)))
  (global $calls (mut i32) (i32.const 1000000))
  (func $back (param i32) (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.eqz (local.get 0)) (then (return (global.get $calls))))
    (return_call $hop (i32.sub (local.get 0) (i32.const 1))))
  (elem (i32.const 1) $back)
  (func (export "start") (param i32) (result i32) (return_call $hop (local.get 0))))
(assert_return (invoke $B "start" (i32.const 200_000)) (i32.const 100_001))
(assert_return (invoke $B "start" (i32.const 199_999)) (i32.const 1_200_000))

;; To the host.
(module
  (import "spectest" "print_i32" (func $print (param i32)))
  (import "spectest" "print_f64_f64" (func $print2 (param f64 f64)))
  (func (export "print") (param i32) (return_call $print (local.get 0)))
  (func (export "print2") (param f64) (return_call $print2 (local.get 0) (local.get 0))))
(assert_return (invoke "print" (i32.const 7)))
(assert_return (invoke "print2" (f64.const 7)))

;; The results of the callee must be those of the caller.
(assert_invalid
  (module
    (func $f (result i64) (i64.const 1))
    (func (result i32) (return_call $f)))
  "type mismatch")
