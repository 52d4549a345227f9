;; All instances that import a mutable global share it, whatever its type.

(module $G
  (global (export "i32") (mut i32) (i32.const 1))
  (global (export "i64") (mut i64) (i64.const 2))
  (global (export "f32") (mut f32) (f32.const 3))
  (global (export "f64") (mut f64) (f64.const 4))
  (global (export "v128") (mut v128) (v128.const i32x4 5 6 7 8))
  (global (export "func") (mut funcref) (ref.null func))
  (global (export "extern") (mut externref) (ref.null extern))
  (global (export "constant") i32 (i32.const 42))
  (global $i64 (mut i64) (i64.const 0))
  (func (export "add") (param i64) (result i64)
    (global.set $i64 (i64.add (global.get $i64) (local.get 0)))
    (global.get $i64)))
(register "G" $G)

(assert_return (get "i32") (i32.const 1))
(assert_return (get $G "v128") (v128.const i32x4 5 6 7 8))
(assert_return (get "func") (ref.null func))
(assert_return (get "constant") (i32.const 42))
(assert_return (invoke "add" (i64.const 7)) (i64.const 7))
(assert_return (invoke "add" (i64.const 7)) (i64.const 14))

(module $H
  (global $i32 (import "G" "i32") (mut i32))
  (global $i64 (import "G" "i64") (mut i64))
  (global $f32 (import "G" "f32") (mut f32))
  (global $f64 (import "G" "f64") (mut f64))
  (global $v128 (import "G" "v128") (mut v128))
  (global $func (import "G" "func") (mut funcref))
  (global $extern (import "G" "extern") (mut externref))
  (global $constant (import "G" "constant") i32)
  ;; An initializer may use an imported constant.
  (global $copy (export "copy") i32 (global.get $constant))
  (global $own (export "i32") (mut i32) (i32.const -1))

  (func $f (result i32) (global.get $i32))
  (elem declare func $f)
  (table $t 1 funcref)

  (func (export "set") (param i32 i64 f32 f64 v128 externref)
    (global.set $i32 (local.get 0))
    (global.set $i64 (local.get 1))
    (global.set $f32 (local.get 2))
    (global.set $f64 (local.get 3))
    (global.set $v128 (local.get 4))
    (global.set $func (ref.func $f))
    (global.set $extern (local.get 5)))
  (func (export "get") (result i32 i64 f32 f64 v128 funcref externref i32)
    (global.get $i32) (global.get $i64) (global.get $f32) (global.get $f64)
    (global.get $v128) (global.get $func) (global.get $extern) (global.get $constant))
  (func (export "call") (result i32)
    (table.set $t (i32.const 0) (global.get $func))
    (call_indirect $t (result i32) (i32.const 0)))
  (func (export "set own") (param i32) (global.set $own (local.get 0))))

(assert_return (invoke $H "get")
  (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i32x4 5 6 7 8)
  (ref.null func) (ref.null extern) (i32.const 42))
(assert_trap (invoke $H "call") "uninitialized element")
(assert_return
  (invoke $H "set"
    (i32.const 10) (i64.const 20) (f32.const 30) (f64.const 40) (v128.const i64x2 50 60)
    (ref.extern 70)))
(assert_return (invoke $H "get")
  (i32.const 10) (i64.const 20) (f32.const 30) (f64.const 40) (v128.const i64x2 50 60)
  (ref.func) (ref.extern 70) (i32.const 42))
(assert_return (get $G "i32") (i32.const 10))
(assert_return (get $G "i64") (i64.const 20))
(assert_return (get $G "f32") (f32.const 30))
(assert_return (get $G "f64") (f64.const 40))
(assert_return (get $G "v128") (v128.const i64x2 50 60))
(assert_return (get $G "func") (ref.func))
(assert_return (get $G "extern") (ref.extern 70))
(assert_return (invoke $H "call") (i32.const 10))
(assert_return (get $H "copy") (i32.const 42))

;; The instance's own global of the same name is a different global.
(assert_return (invoke $H "set own" (i32.const 5)))
(assert_return (get $H "i32") (i32.const 5))
(assert_return (get $G "i32") (i32.const 10))

;; A reexported global is still the same global.
(module $I
  (global (import "G" "i32") (mut i32))
  (export "again" (global 0)))
(register "I" $I)
(module
  (global $a (import "G" "i32") (mut i32))
  (global $b (import "I" "again") (mut i32))
  (func (export "same") (param i32) (result i32)
    (global.set $a (local.get 0))
    (global.get $b)))
(assert_return (invoke "same" (i32.const 77)) (i32.const 77))

(assert_unlinkable (module (global (import "G" "i32") i32)) "incompatible import type")
(assert_unlinkable (module (global (import "G" "constant") (mut i32))) "incompatible import type")
(assert_unlinkable (module (global (import "G" "i32") (mut i64))) "incompatible import type")
(assert_unlinkable (module (global (import "G" "func") (mut externref))) "incompatible import type")
(assert_invalid
  (module (global i32 (i32.const 0)) (func (global.set 0 (i32.const 1))))
  "global is immutable")
