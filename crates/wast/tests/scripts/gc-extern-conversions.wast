;; References convert to `externref` and back without change, including `i31` and null.

(module $M
  (type $s (struct (field i32)))
  (type $a (array i8))
  (global $kept (mut externref) (ref.null extern))
  (table $t 2 externref)
  (func (export "out struct") (result externref)
    (extern.convert_any (struct.new $s (i32.const 5))))
  (func (export "struct") (result i32)
    (struct.get $s 0
      (ref.cast (ref $s)
        (any.convert_extern (extern.convert_any (struct.new $s (i32.const 5)))))))
  (func (export "same") (result i32)
    (local $s (ref $s)) (local $out (ref extern))
    (local.set $s (struct.new $s (i32.const 5)))
    (local.set $out (extern.convert_any (local.get $s)))
    (drop (struct.new $s (i32.const 6)))
    (ref.eq
      (local.get $s)
      (ref.cast (ref $s) (any.convert_extern (local.get $out)))))
  (func (export "array") (result i32)
    (array.len
      (ref.cast (ref array)
        (any.convert_extern (extern.convert_any (array.new_default $a (i32.const 9)))))))
  (func (export "i31") (param i32) (result i32)
    (i31.get_s
      (ref.cast (ref i31)
        (any.convert_extern (extern.convert_any (ref.i31 (local.get 0)))))))
  (func (export "null out") (result externref) (extern.convert_any (ref.null any)))
  (func (export "null in") (result anyref) (any.convert_extern (ref.null extern)))
  (func (export "null none") (result externref) (extern.convert_any (ref.null none)))
  (func (export "null keeps") (result i32)
    (ref.is_null (any.convert_extern (extern.convert_any (ref.null $s)))))

  ;; A converted host value only has the type `any`.
  (func (export "in") (param externref) (result anyref) (any.convert_extern (local.get 0)))
  (func (export "in and out") (param externref) (result externref)
    (extern.convert_any (any.convert_extern (local.get 0))))
  (func (export "out and in") (param anyref) (result anyref)
    (any.convert_extern (extern.convert_any (local.get 0))))
  (func (export "kinds") (param externref) (result i32 i32 i32 i32 i32)
    (local $x anyref)
    (local.set $x (any.convert_extern (local.get 0)))
    (ref.test (ref any) (local.get $x))
    (ref.test (ref eq) (local.get $x))
    (ref.test (ref i31) (local.get $x))
    (ref.test (ref struct) (local.get $x))
    (ref.test (ref $a) (local.get $x)))

  ;; A converted reference can be kept like any host value.
  (func (export "keep")
    (global.set $kept (extern.convert_any (struct.new $s (i32.const 7))))
    (table.set $t (i32.const 1) (extern.convert_any (ref.i31 (i32.const 8)))))
  (func (export "kept") (result i32 i32)
    (struct.get $s 0 (ref.cast (ref $s) (any.convert_extern (global.get $kept))))
    (i31.get_u (ref.cast (ref i31) (any.convert_extern (table.get $t (i32.const 1))))))

  ;; In a constant expression.
  (global $constant externref (extern.convert_any (ref.i31 (i32.const 3))))
  (global $back anyref (any.convert_extern (global.get $constant)))
  (func (export "constant") (result i32)
    (i31.get_u (ref.cast (ref i31) (global.get $back)))))

(assert_return (invoke "out struct") (ref.extern))
(assert_return (invoke "struct") (i32.const 5))
(assert_return (invoke "same") (i32.const 1))
(assert_return (invoke "array") (i32.const 9))
(assert_return (invoke "i31" (i32.const 0)) (i32.const 0))
(assert_return (invoke "i31" (i32.const -7)) (i32.const -7))
(assert_return (invoke "null out") (ref.null extern))
(assert_return (invoke "null in") (ref.null any))
(assert_return (invoke "null none") (ref.null extern))
(assert_return (invoke "null keeps") (i32.const 1))
(assert_return (invoke "in" (ref.extern 4)) (ref.host 4))
(assert_return (invoke "in" (ref.null extern)) (ref.null any))
(assert_return (invoke "in and out" (ref.extern 4)) (ref.extern 4))
(assert_return (invoke "out and in" (ref.host 4)) (ref.host 4))
(assert_return (invoke "kinds" (ref.extern 4))
  (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
(assert_return (invoke "keep"))
(assert_return (invoke "kept") (i32.const 7) (i32.const 8))
(assert_return (invoke "constant") (i32.const 3))

;; Conversions preserve nullability.
(assert_invalid
  (module (func (param externref) (result (ref any)) (any.convert_extern (local.get 0))))
  "type mismatch")
(module
  (func (export "f") (param (ref extern)) (result (ref any)) (any.convert_extern (local.get 0))))
(assert_return (invoke "f" (ref.extern 2)) (ref.host 2))
