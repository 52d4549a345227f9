;; `array.copy` within one array works as if through a buffer, for every element size.

(module
  (type $b (array (mut i8)))
  (type $h (array (mut i16)))
  (type $v (array (mut v128)))
  (type $s (struct (field i32)))
  (type $r (array (mut (ref null $s))))

  (func (export "i8") (param i32 i32 i32) (result i64)
    (local $a (ref $b)) (local $i i32) (local $digits i64)
    (local.set $a (array.new_default $b (i32.const 8)))
    (loop $next
      (array.set $b (local.get $a) (local.get $i) (i32.add (local.get $i) (i32.const 1)))
      (br_if $next
        (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    (array.copy $b $b
      (local.get $a) (local.get 0) (local.get $a) (local.get 1) (local.get 2))
    (local.set $i (i32.const 0))
    (loop $next
      (local.set $digits
        (i64.add
          (i64.mul (local.get $digits) (i64.const 10))
          (i64.extend_i32_u (array.get_u $b (local.get $a) (local.get $i)))))
      (br_if $next
        (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    (local.get $digits))

  (func (export "i16") (param i32 i32 i32) (result i32 i32 i32 i32)
    (local $a (ref $h))
    (local.set $a
      (array.new_fixed $h 4 (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4)))
    (array.copy $h $h
      (local.get $a) (local.get 0) (local.get $a) (local.get 1) (local.get 2))
    (array.get_u $h (local.get $a) (i32.const 0)) (array.get_u $h (local.get $a) (i32.const 1))
    (array.get_u $h (local.get $a) (i32.const 2)) (array.get_u $h (local.get $a) (i32.const 3)))

  (func (export "v128") (param i32 i32 i32) (result v128 v128 v128 v128)
    (local $a (ref $v))
    (local.set $a
      (array.new_fixed $v 4
        (v128.const i64x2 1 1) (v128.const i64x2 2 2)
        (v128.const i64x2 3 3) (v128.const i64x2 4 4)))
    (array.copy $v $v
      (local.get $a) (local.get 0) (local.get $a) (local.get 1) (local.get 2))
    (array.get $v (local.get $a) (i32.const 0)) (array.get $v (local.get $a) (i32.const 1))
    (array.get $v (local.get $a) (i32.const 2)) (array.get $v (local.get $a) (i32.const 3)))

  (func $s (param i32) (result (ref $s)) (struct.new $s (local.get 0)))
  (func $value (param (ref $r) i32) (result i32)
    (struct.get $s 0 (array.get $r (local.get 0) (local.get 1))))
  (func (export "references") (param i32 i32 i32) (result i32 i32 i32 i32)
    (local $a (ref $r))
    (local.set $a
      (array.new_fixed $r 4
        (call $s (i32.const 1)) (call $s (i32.const 2))
        (call $s (i32.const 3)) (call $s (i32.const 4))))
    (array.copy $r $r
      (local.get $a) (local.get 0) (local.get $a) (local.get 1) (local.get 2))
    (drop (call $s (i32.const 5)))
    (call $value (local.get $a) (i32.const 0)) (call $value (local.get $a) (i32.const 1))
    (call $value (local.get $a) (i32.const 2)) (call $value (local.get $a) (i32.const 3))))

(assert_return (invoke "i8" (i32.const 1) (i32.const 0) (i32.const 7)) (i64.const 11234567))
(assert_return (invoke "i8" (i32.const 0) (i32.const 1) (i32.const 7)) (i64.const 23456788))
(assert_return (invoke "i8" (i32.const 2) (i32.const 3) (i32.const 3)) (i64.const 12456678))
(assert_return (invoke "i8" (i32.const 5) (i32.const 2) (i32.const 3)) (i64.const 12345345))
(assert_return (invoke "i8" (i32.const 3) (i32.const 3) (i32.const 3)) (i64.const 12345678))
(assert_return (invoke "i8" (i32.const 0) (i32.const 0) (i32.const 8)) (i64.const 12345678))
(assert_return (invoke "i16" (i32.const 1) (i32.const 0) (i32.const 3))
  (i32.const 1) (i32.const 1) (i32.const 2) (i32.const 3))
(assert_return (invoke "i16" (i32.const 0) (i32.const 1) (i32.const 3))
  (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 4))
(assert_return (invoke "v128" (i32.const 1) (i32.const 0) (i32.const 3))
  (v128.const i64x2 1 1) (v128.const i64x2 1 1) (v128.const i64x2 2 2) (v128.const i64x2 3 3))
(assert_return (invoke "v128" (i32.const 0) (i32.const 1) (i32.const 3))
  (v128.const i64x2 2 2) (v128.const i64x2 3 3) (v128.const i64x2 4 4) (v128.const i64x2 4 4))
(assert_return (invoke "references" (i32.const 1) (i32.const 0) (i32.const 3))
  (i32.const 1) (i32.const 1) (i32.const 2) (i32.const 3))
(assert_return (invoke "references" (i32.const 0) (i32.const 2) (i32.const 2))
  (i32.const 3) (i32.const 4) (i32.const 3) (i32.const 4))
