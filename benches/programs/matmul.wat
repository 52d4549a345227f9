;; Floating point in memory: run(n) multiplies two 64 by 64 matrices of f64 n times, starting each
;; time from the previous product (scaled to stay finite).
;; One operation is one multiply-add; there are n * 64^3. The result is the bit pattern of the
;; trace.
(module
  ;; A at 0, B at 32 KiB, C at 64 KiB, each 32 KiB in row-major order.
  (memory 2)

  (func $fill
    (local $i i32)
    (loop $next
      ;; A: small integers around zero; B: around one half.
      (f64.store (i32.shl (local.get $i) (i32.const 3))
        (f64.convert_i32_s
          (i32.sub (i32.rem_u (i32.mul (local.get $i) (i32.const 7)) (i32.const 11)) (i32.const 5))))
      (f64.store offset=32768 (i32.shl (local.get $i) (i32.const 3))
        (f64.div
          (f64.convert_i32_s (i32.rem_u (i32.mul (local.get $i) (i32.const 13)) (i32.const 17)))
          (f64.const 16)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4096)))))

  ;; The scalar product of the row of A at $a and the column of B at $b.
  (func $cell (param $a i32) (param $b i32) (result f64)
    (local $k i32)
    (local $sum f64)
    (loop $next
      (local.set $sum
        (f64.add (local.get $sum)
          (f64.mul (f64.load (local.get $a)) (f64.load offset=32768 (local.get $b)))))
      (local.set $a (i32.add (local.get $a) (i32.const 8)))
      (local.set $b (i32.add (local.get $b) (i32.const 512)))
      (local.set $k (i32.add (local.get $k) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $k) (i32.const 64))))
    (local.get $sum))

  (func $multiply
    (local $row i32)
    (local $column i32)
    (loop $next_row
      (local.set $column (i32.const 0))
      (loop $next_column
        (f64.store offset=65536
          (i32.add
            (i32.shl (local.get $row) (i32.const 9))
            (i32.shl (local.get $column) (i32.const 3)))
          (call $cell
            (i32.shl (local.get $row) (i32.const 9))
            (i32.shl (local.get $column) (i32.const 3))))
        (local.set $column (i32.add (local.get $column) (i32.const 1)))
        (br_if $next_column (i32.lt_u (local.get $column) (i32.const 64))))
      (local.set $row (i32.add (local.get $row) (i32.const 1)))
      (br_if $next_row (i32.lt_u (local.get $row) (i32.const 64)))))

  ;; A := C / 32, which keeps the largest element within bounds.
  (func $feed_back
    (local $i i32)
    (loop $next
      (f64.store (local.get $i)
        (f64.div (f64.load offset=65536 (local.get $i)) (f64.const 32)))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 32768)))))

  (func $trace (result f64)
    (local $i i32)
    (local $sum f64)
    (loop $next
      (local.set $sum
        (f64.add (local.get $sum) (f64.load (i32.mul (local.get $i) (i32.const 520)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 64))))
    (local.get $sum))

  (func (export "run") (param $n i64) (result i64)
    (call $fill)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $multiply)
        (call $feed_back)
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.reinterpret_f64 (call $trace))))
