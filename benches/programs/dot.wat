;; Vectors of floats, reduced: run(n) computes the scalar product of two vectors of 4,096 numbers n
;; times, with four parallel sums, and adds up the products.
;; One operation is one step of sixteen numbers; there are n * 256.
(module
  ;; x at 0, y at 16 KiB.
  (memory 1)

  (func $fill
    (local $i i32)
    (loop $next
      (f32.store (i32.shl (local.get $i) (i32.const 2))
        (f32.convert_i32_s (i32.sub (i32.and (local.get $i) (i32.const 31)) (i32.const 9))))
      (f32.store offset=16384 (i32.shl (local.get $i) (i32.const 2))
        (f32.convert_i32_u (i32.rem_u (local.get $i) (i32.const 3))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4096)))))

  (func $dot (result f32)
    (local $i i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (loop $next
      (local.set $a (f32x4.add (local.get $a)
        (f32x4.mul (v128.load (local.get $i)) (v128.load offset=16384 (local.get $i)))))
      (local.set $b (f32x4.add (local.get $b)
        (f32x4.mul (v128.load offset=16 (local.get $i)) (v128.load offset=16400 (local.get $i)))))
      (local.set $c (f32x4.add (local.get $c)
        (f32x4.mul (v128.load offset=32 (local.get $i)) (v128.load offset=16416 (local.get $i)))))
      (local.set $d (f32x4.add (local.get $d)
        (f32x4.mul (v128.load offset=48 (local.get $i)) (v128.load offset=16432 (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384))))
    (local.set $a
      (f32x4.add (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d))))
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
      (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))

  (func (export "run") (param $n i64) (result i64)
    (local $total i64)
    (call $fill)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $total
          (i64.add (local.get $total) (i64.trunc_sat_f32_s (call $dot))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $total)))
