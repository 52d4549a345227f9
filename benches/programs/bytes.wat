;; Vectors of bytes: run(n) passes n times over 16 KiB of pseudorandom text, changes the case of the
;; letters, and counts the spaces.
;; One operation is one step of sixteen bytes; there are n * 1,024.
(module
  (memory 1)

  ;; Pseudorandom bytes between 32 and 127.
  (func $fill
    (local $i i32)
    (local $seed i32)
    (local.set $seed (i32.const 1))
    (loop $next
      (local.set $seed
        (i32.add (i32.mul (local.get $seed) (i32.const 1103515245)) (i32.const 12345)))
      (i32.store8 (local.get $i)
        (i32.add (i32.const 32) (i32.rem_u (i32.shr_u (local.get $seed) (i32.const 16)) (i32.const 96))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384)))))

  (func $pass (result i32)
    (local $i i32)
    (local $spaces i32)
    (local $text v128)
    (loop $next
      (local.set $text (v128.load (local.get $i)))
      (local.set $spaces
        (i32.add (local.get $spaces)
          (i32.popcnt
            (i8x16.bitmask (i8x16.eq (local.get $text) (i8x16.splat (i32.const 32)))))))
      ;; Flip bit 0x20 of the lanes that contain a letter.
      (v128.store (local.get $i)
        (v128.xor (local.get $text)
          (v128.and
            (i8x16.lt_u
              (i8x16.sub
                (v128.or (local.get $text) (i8x16.splat (i32.const 0x20)))
                (i8x16.splat (i32.const 97)))
              (i8x16.splat (i32.const 26)))
            (i8x16.splat (i32.const 0x20)))))
      (local.set $i (i32.add (local.get $i) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384))))
    (local.get $spaces))

  ;; A checksum that depends on the positions of the bytes.
  (func $digest (result i64)
    (local $i i32)
    (local $sum i64)
    (loop $next
      (local.set $sum
        (i64.add
          (i64.rotl (local.get $sum) (i64.const 9))
          (i64.load (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16384))))
    (local.get $sum))

  (func (export "run") (param $n i64) (result i64)
    (local $total i64)
    (call $fill)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $total (i64.add (local.get $total) (i64.extend_i32_u (call $pass))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.add (local.get $total) (call $digest))))
