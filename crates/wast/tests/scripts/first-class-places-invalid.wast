;; Linear access is invalid on places that are unknown, immutable or not nullable references.

;; The place is not a reference.
(assert_invalid
  (module (func (param $x i32) (drop (local.get_clear $x)))) "type mismatch")
(assert_invalid
  (module (func (param $x i32) (local.set_cleared $x (i32.const 1)))) "type mismatch")
(assert_invalid
  (module (func (param $x f64) (drop (local.is_cleared $x)))) "type mismatch")
(assert_invalid
  (module (global $g (mut i64) (i64.const 0)) (func (drop (global.is_cleared $g))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut i8))))
    (func (param (ref $s)) (drop (struct.get_clear $s $f (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut i32))))
    (func (param (ref $s)) (drop (struct.is_cleared $s $f (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $a (array (mut i16)))
    (func (param (ref $a)) (drop (array.get_clear $a (local.get 0) (i32.const 0)))))
  "type mismatch")

;; The place is not nullable.
(assert_invalid
  (module (func (param $x (ref func)) (drop (local.get_clear $x)))) "type mismatch")
(assert_invalid
  (module (func (param $x (ref any)) (drop (local.is_cleared $x)))) "type mismatch")
(assert_invalid
  (module (func $f) (global $g (mut (ref func)) (ref.func $f))
    (func (global.set_cleared $g (global.get $g))))
  "type mismatch")
(assert_invalid
  (module (func $f) (table $t 1 (ref func) (ref.func $f))
    (func (drop (table.is_cleared $t (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module (func $f) (table $t 1 (ref func) (ref.func $f))
    (func (drop (table.grow_cleared $t (i32.const 1)))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut (ref eq)))))
    (func (param (ref $s)) (drop (struct.get_clear $s $f (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $a (array (mut (ref eq))))
    (func (param (ref $a)) (array.set_cleared $a (local.get 0) (i32.const 0) (ref.i31 (i32.const 1)))))
  "type mismatch")

;; The place is immutable.
(assert_invalid
  (module (global $g funcref (ref.null func)) (func (drop (global.get_clear $g))))
  "immutable global")
(assert_invalid
  (module (global $g funcref (ref.null func)) (func (global.set_cleared $g (ref.null func))))
  "immutable global")
(assert_invalid
  (module (type $s (struct (field $f anyref)))
    (func (param (ref $s)) (drop (struct.get_clear $s $f (local.get 0)))))
  "immutable field")
(assert_invalid
  (module (type $s (struct (field $f anyref)))
    (func (param (ref $s)) (struct.set_cleared $s $f (local.get 0) (ref.null any))))
  "immutable field")
(assert_invalid
  (module (type $a (array anyref))
    (func (param (ref $a)) (drop (array.get_clear $a (local.get 0) (i32.const 0)))))
  "immutable array")
(assert_invalid
  (module (type $a (array anyref))
    (func (param (ref $a)) (array.set_cleared $a (local.get 0) (i32.const 0) (ref.null any))))
  "immutable array")

;; Operands or results have another type.
(assert_invalid
  (module (func (param $x funcref) (local.set_cleared $x (ref.null extern)))) "type mismatch")
(assert_invalid
  (module (func (param $x anyref) (result eqref) (local.get_clear $x))) "type mismatch")
(assert_invalid
  (module (func (param $x anyref) (result i64) (local.is_cleared $x))) "type mismatch")
(assert_invalid
  (module (table $t i64 1 funcref) (func (drop (table.get_clear $t (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module (table $t 1 funcref) (func (drop (table.is_cleared $t (i64.const 0)))))
  "type mismatch")
(assert_invalid
  (module (table $t i64 1 funcref) (func (table.set_cleared $t (i32.const 0) (ref.null func))))
  "type mismatch")
(assert_invalid
  (module (table $t i64 1 funcref) (func (drop (table.grow_cleared $t (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module (table $t i64 1 funcref) (func (result i32) (table.grow_cleared $t (i64.const 0))))
  "type mismatch")
(assert_invalid
  (module (table $t 1 funcref) (func (drop (table.grow_cleared $t (ref.null func) (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut anyref)))) (type $r (struct (field i32)))
    (func (param (ref $r)) (drop (struct.get_clear $s $f (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut anyref))))
    (func (param (ref $s)) (struct.set_cleared $s $f (local.get 0))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut anyref))))
    (func (param (ref $s)) (struct.set_cleared $s $f (ref.null any) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module (type $a (array (mut anyref)))
    (func (param (ref $a)) (drop (array.get_clear $a (local.get 0) (i64.const 0)))))
  "type mismatch")
(assert_invalid
  (module (type $a (array (mut anyref)))
    (func (param (ref $a)) (array.set_cleared $a (local.get 0) (ref.null any))))
  "type mismatch")
(assert_invalid
  (module (type $a (array (mut anyref)))
    (func (param (ref $a)) (drop (array.is_cleared $a (local.get 0)))))
  "type mismatch")

;; The type is of another kind.
(assert_invalid
  (module (type $a (array (mut anyref)))
    (func (param (ref $a)) (drop (struct.get_clear $a 0 (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $s (struct (field $f (mut anyref))))
    (func (param (ref $s)) (drop (array.get_clear $s (local.get 0) (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module (type $f (func)) (func (drop (struct.is_cleared $f 0 (ref.null $f))))) "type mismatch")

;; The place is unknown.
(assert_invalid (module (func (drop (local.get_clear 0)))) "unknown local")
(assert_invalid (module (func (drop (global.is_cleared 0)))) "unknown global")
(assert_invalid (module (func (drop (table.grow_cleared (i32.const 1))))) "unknown table")
(assert_invalid
  (module (type $s (struct (field (mut anyref))))
    (func (param (ref $s)) (drop (struct.get_clear $s 1 (local.get 0)))))
  "unknown field")
(assert_malformed
  (module quote "(func (drop (local.is_cleared $x)))") "unknown local")
(assert_malformed
  (module quote "(func (drop (global.get_clear $g)))") "unknown global")
(assert_malformed
  (module quote "(func (drop (table.is_cleared $t (i32.const 0))))") "unknown table")
(assert_malformed
  (module quote "(func (drop (struct.is_cleared $s 0 (ref.null any))))") "unknown type")
(assert_malformed
  (module quote "(func (drop (array.get_clear $a (ref.null any) (i32.const 0))))") "unknown type")
(assert_malformed
  (module quote
    "(type $s (struct (field $f (mut anyref))))"
    "(func (param (ref $s)) (drop (struct.get_clear $s $g (local.get 0))))")
  "unknown field")

;; Types must be named.
(assert_malformed
  (module quote
    "(type $s (struct (field $f (mut anyref))))"
    "(func (param (ref $s)) (drop (struct.get_clear 0 $f (local.get 0))))")
  "expected a name")
(assert_malformed
  (module quote
    "(type $a (array (mut anyref)))"
    "(func (param (ref $a)) (drop (array.is_cleared 0 (local.get 0) (i32.const 0))))")
  "expected a name")
(assert_malformed
  (module quote
    "(type $s (struct (field $f (mut anyref))))"
    "(func (param (ref 0)) (drop (struct.get_clear $s $f (local.get 0))))")
  "expected a name")

;; Operands and instructions that are missing or unknown.
(assert_malformed
  (module quote
    "(type $s (struct (field (mut anyref))))"
    "(func (param (ref $s)) (drop (struct.get_clear $s (local.get 0))))")
  "a field")
(assert_malformed
  (module quote "(func (drop (global.get_clear)))") "a global")
(assert_malformed
  (module quote "(func (param $x anyref) (drop (local.grow_cleared $x)))") "unknown operator")
(assert_malformed
  (module quote "(type $a (array (mut anyref))) (func (drop (array.grow_cleared $a)))")
  "unknown operator")

;; Linear access is not constant.
(assert_invalid
  (module
    (global $g (mut anyref) (ref.null any))
    (global $h anyref (global.get_clear $g)))
  "constant expression required")
(assert_invalid
  (module
    (type $s (struct (field anyref)))
    (global $i i32 (struct.is_cleared $s 0 (struct.new_default $s))))
  "constant expression required")
