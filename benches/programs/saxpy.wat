;; Vectors of floats: run(n) computes y := a * x + y on 4,096 numbers n times, and returns the bits
;; of the scalar product of x and y.
;; One operation is one step of four numbers; there are n * 1,024.
(module
  ;; x at 0, y at 16 KiB.
  (memory 1)

  (func $fill
    (local $i i32)
    (loop $next
      (f32.store (i32.shl (local.get $i) (i32.const 2))
        (f32.convert_i32_s (i32.sub (i32.and (local.get $i) (i32.const 15)) (i32.const 7))))
      (f32.store offset=16384 (i32.shl (local.get $i) (i32.const 2)) (f32.const 1))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4096)))))

  (func $saxpy (param $a v128)
    (local $i i32)
    (loop $next
      (v128.store offset=16384 (local.get $i)
        (f32x4.add
          (f32x4.mul (local.get $a) (v128.load (local.get $i)))
          (v128.load offset=16384 (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384)))))

  (func $dot (result f32)
    (local $i i32)
    (local $sum v128)
    (loop $next
      (local.set $sum
        (f32x4.add (local.get $sum)
          (f32x4.mul (v128.load (local.get $i)) (v128.load offset=16384 (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384))))
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
      (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))

  (func (export "run") (param $n i64) (result i64)
    (call $fill)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $saxpy (f32x4.splat (f32.const 0.001)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.extend_i32_u (i32.reinterpret_f32 (call $dot)))))
