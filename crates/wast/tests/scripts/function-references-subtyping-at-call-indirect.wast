;; `call_indirect` accepts a function whose type is a declared subtype of the
;; one it names, and no other, however alike.

(module $defines
  (type $super (sub (func (param (ref null $super)) (result anyref))))
  (type $sub (sub $super (func (param (ref null $super)) (result eqref))))
  (type $subsub (sub final $sub (func (param (ref null $super)) (result i31ref))))
  (type $plain (func (result i32)))
  (type $open (sub (func (result i32))))
  (type $opensub (sub $open (func (result i32))))
  (table (export "table") 7 funcref)
  (elem (i32.const 0) $super $sub $subsub $plain $open $opensub)
  (func $super (type $super) (ref.i31 (i32.const 10)))
  (func $sub (type $sub) (ref.i31 (i32.const 11)))
  (func $subsub (type $subsub) (ref.i31 (i32.const 12)))
  (func $plain (type $plain) (i32.const 13))
  (func $open (type $open) (i32.const 14))
  (func $opensub (type $opensub) (i32.const 15))

  (func $value (param anyref) (result i32)
    (i31.get_u (ref.cast (ref i31) (local.get 0))))
  (func (export "super") (param i32) (result i32)
    (call $value (call_indirect (type $super) (ref.null $super) (local.get 0))))
  (func (export "sub") (param i32) (result i32)
    (call $value (call_indirect (type $sub) (ref.null $super) (local.get 0))))
  (func (export "subsub") (param i32) (result i32)
    (call $value (call_indirect (type $subsub) (ref.null $super) (local.get 0))))
  (func (export "plain") (param i32) (result i32)
    (call_indirect (type $plain) (local.get 0)))
  (func (export "open") (param i32) (result i32)
    (call_indirect (type $open) (local.get 0)))
  (func (export "opensub") (param i32) (result i32)
    (return_call_indirect (type $opensub) (local.get 0)))
  (func (export "cast") (param i32) (result i32)
    (i32.add
      (ref.test (ref $super) (table.get (local.get 0)))
      (i32.add
        (i32.mul (i32.const 2) (ref.test (ref $sub) (table.get (local.get 0))))
        (i32.mul (i32.const 4) (ref.test (ref null $subsub) (table.get (local.get 0))))))))
(register "defines" $defines)

(assert_return (invoke "super" (i32.const 0)) (i32.const 10))
(assert_return (invoke "super" (i32.const 1)) (i32.const 11))
(assert_return (invoke "super" (i32.const 2)) (i32.const 12))
(assert_trap (invoke "super" (i32.const 3)) "indirect call type mismatch")
(assert_trap (invoke "super" (i32.const 6)) "uninitialized element")
(assert_trap (invoke "super" (i32.const 7)) "undefined element")
(assert_trap (invoke "sub" (i32.const 0)) "indirect call type mismatch")
(assert_return (invoke "sub" (i32.const 1)) (i32.const 11))
(assert_return (invoke "sub" (i32.const 2)) (i32.const 12))
(assert_trap (invoke "subsub" (i32.const 1)) "indirect call type mismatch")
(assert_return (invoke "subsub" (i32.const 2)) (i32.const 12))
(assert_return (invoke "plain" (i32.const 3)) (i32.const 13))
(assert_trap (invoke "plain" (i32.const 4)) "indirect call type mismatch")
(assert_trap (invoke "open" (i32.const 3)) "indirect call type mismatch")
(assert_return (invoke "open" (i32.const 4)) (i32.const 14))
(assert_return (invoke "open" (i32.const 5)) (i32.const 15))
(assert_trap (invoke "opensub" (i32.const 4)) "indirect call type mismatch")
(assert_return (invoke "opensub" (i32.const 5)) (i32.const 15))
(assert_return (invoke "cast" (i32.const 0)) (i32.const 1))
(assert_return (invoke "cast" (i32.const 1)) (i32.const 3))
(assert_return (invoke "cast" (i32.const 2)) (i32.const 7))
(assert_return (invoke "cast" (i32.const 3)) (i32.const 0))
(assert_return (invoke "cast" (i32.const 6)) (i32.const 4))

;; The types of another module are the same if they were declared the same.
(module
  (type $open (sub (func (result i32))))
  (type $other (sub (func (result i64))))
  (import "defines" "table" (table 7 funcref))
  (func (export "open") (param i32) (result i32)
    (call_indirect (type $open) (local.get 0)))
  (func (export "other") (param i32) (result i64)
    (call_indirect (type $other) (local.get 0))))
(assert_return (invoke "open" (i32.const 5)) (i32.const 15))
(assert_trap (invoke "open" (i32.const 3)) "indirect call type mismatch")
(assert_trap (invoke "other" (i32.const 4)) "indirect call type mismatch")

;; Imports accept subtypes too.
(module $exports
  (type $open (sub (func (result i32))))
  (type $sub (sub $open (func (result i32))))
  (func (export "open") (type $open) (i32.const 1))
  (func (export "sub") (type $sub) (i32.const 2)))
(register "exports" $exports)
(module
  (type $open (sub (func (result i32))))
  (import "exports" "open" (func $open (type $open)))
  (import "exports" "sub" (func $sub (type $open)))
  (func (export "sum") (result i32) (i32.add (call $open) (call $sub))))
(assert_return (invoke "sum") (i32.const 3))
(assert_unlinkable
  (module
    (type $open (sub (func (result i32))))
    (type $sub (sub $open (func (result i32))))
    (import "exports" "open" (func (type $sub))))
  "incompatible import type")
(assert_unlinkable
  (module (import "exports" "open" (func (result i32))))
  "incompatible import type")

(assert_invalid
  (module (type $f (func)) (type $g (sub $f (func))))
  "sub type cannot have a final super type")
