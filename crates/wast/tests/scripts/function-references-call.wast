;; `call_ref` calls a function of any signature and instance, wherever its reference was kept.

(module $other
  (type $unary (func (param i32) (result i32)))
  (global $calls (mut i32) (i32.const 0))
  (func $count (export "count") (type $unary)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.mul (local.get 0) (global.get $calls)))
  (global (export "global") (ref $unary) (ref.func $count)))
(register "other" $other)

(module
  (type $unary (func (param i32) (result i32)))
  (type $nullary (func))
  (type $many
    (func
      (param i32 i64 f32 f64 v128 (ref $unary) externref i32 i32 i32 i32 i32 i32 i32 i32)
      (result i32 externref (ref $unary) v128 f64 f32 i64 i32)))
  (type $higher (func (param (ref $unary) i32) (result i32)))
  (type $maker (func (param i32) (result (ref $unary))))

  (import "other" "count" (func $imported (type $unary)))
  (import "other" "global" (global $other (ref $unary)))
  (import "spectest" "print" (func $print))

  (elem declare func $double $square $imported $print $reverse $twice $choose $factorial)

  (func $double (type $unary) (i32.shl (local.get 0) (i32.const 1)))
  (func $square (type $unary) (i32.mul (local.get 0) (local.get 0)))
  (func $twice (type $higher)
    (call_ref $unary (call_ref $unary (local.get 1) (local.get 0)) (local.get 0)))
  (func $choose (type $maker)
    (select (result (ref $unary)) (ref.func $double) (ref.func $square) (local.get 0)))
  (func $reverse (type $many)
    (local.get 14) (local.get 6) (local.get 5) (local.get 4)
    (local.get 3) (local.get 2) (local.get 1) (local.get 0))

  (func (export "double") (param i32) (result i32)
    (call_ref $unary (local.get 0) (ref.func $double)))
  (func (export "twice") (param i32 i32) (result i32)
    (call_ref $higher
      (call_ref $maker (local.get 0) (ref.func $choose))
      (local.get 1)
      (ref.func $twice)))
  (func (export "imported") (param i32) (result i32)
    (call_ref $unary (local.get 0) (ref.func $imported)))
  (func (export "global") (param i32) (result i32)
    (call_ref $unary (local.get 0) (global.get $other)))
  (func (export "host") (call_ref $nullary (ref.func $print)))
  (func (export "many") (param externref)
    (result i32 externref i32 v128 f64 f32 i64 i32)
    (local $i32 i32) (local $i64 i64) (local $f32 f32) (local $f64 f64) (local $v128 v128)
    (local $func (ref $unary)) (local $extern externref) (local $first i32)
    (call_ref $many
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 6)
      (ref.func $square) (local.get 0)
      (i32.const 8) (i32.const 9) (i32.const 10) (i32.const 11) (i32.const 12)
      (i32.const 13) (i32.const 14) (i32.const 15)
      (ref.func $reverse))
    (local.set $first) (local.set $i64) (local.set $f32) (local.set $f64) (local.set $v128)
    (local.set $func) (local.set $extern)
    (local.get $extern)
    (call_ref $unary (i32.const 12) (local.get $func))
    (local.get $v128) (local.get $f64) (local.get $f32) (local.get $i64) (local.get $first))

  ;; A function calls itself by a reference that it receives as an argument.
  (type $recursive (func (param i64 (ref null $recursive)) (result i64)))
  (func $factorial (type $recursive)
    (if (i64.eqz (local.get 0)) (then (return (i64.const 1))))
    (i64.mul (local.get 0)
      (call_ref $recursive
        (i64.sub (local.get 0) (i64.const 1)) (local.get 1) (local.get 1))))
  (func (export "factorial") (param i64) (result i64)
    (call_ref $recursive (local.get 0) (ref.func $factorial) (ref.func $factorial))))

(assert_return (invoke "double" (i32.const 21)) (i32.const 42))
(assert_return (invoke "twice" (i32.const 1) (i32.const 5)) (i32.const 20))
(assert_return (invoke "twice" (i32.const 0) (i32.const 3)) (i32.const 81))
(assert_return (invoke "imported" (i32.const 10)) (i32.const 10))
(assert_return (invoke "global" (i32.const 10)) (i32.const 20))
(assert_return (invoke "imported" (i32.const 10)) (i32.const 30))
(assert_return (invoke "host"))
(assert_return (invoke "many" (ref.extern 7))
  (i32.const 15) (ref.extern 7) (i32.const 144) (v128.const i64x2 5 6)
  (f64.const 4) (f32.const 3) (i64.const 2) (i32.const 1))
(assert_return (invoke "factorial" (i64.const 20)) (i64.const 2432902008176640000))

(assert_invalid
  (module (type $f (func)) (func (param funcref) (call_ref $f (local.get 0))))
  "type mismatch")
(assert_invalid
  (module (type $f (func)) (type $g (func (result i32)))
    (func (param (ref $f)) (result i32) (call_ref $g (local.get 0))))
  "type mismatch")
