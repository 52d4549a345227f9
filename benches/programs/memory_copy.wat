;; memory.copy: each export runs n copies of one size between moving addresses. `mixed` uses sizes
;; from 16 to 256 bytes in an unpredictable order.
;; One operation is one copy. The size is in a global, so that it is not a constant to the compiler.
(module
  (memory 40)
  (global $size (mut i32) (i32.const 0))

  ;; Initial contents: the first 64 KiB count upwards.
  (func $fill
    (local $i i32)
    (loop $next
      (i32.store (local.get $i) (i32.mul (local.get $i) (i32.const 0x9e3779b1)))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 65536)))))

  (func $repeat (param $n i64) (result i64)
    (local $size i32)
    (local $from i32)
    (call $fill)
    (local.set $size (global.get $size))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (local.set $from
          (i32.and (i32.mul (i32.wrap_i64 (local.get $n)) (i32.const 24)) (i32.const 0xff8)))
        (memory.copy
          (i32.add (local.get $from) (i32.const 0x140000))
          (local.get $from)
          (local.get $size))
        (br $next)))
    (call $digest))

  (func $repeat_mixed (param $n i64) (result i64)
    (local $seed i32)
    (call $fill)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (local.set $seed
          (i32.add (i32.mul (local.get $seed) (i32.const 1664525)) (i32.const 1013904223)))
        (memory.copy
          (i32.add (i32.shr_u (local.get $seed) (i32.const 20)) (i32.const 0x140000))
          (i32.and (local.get $seed) (i32.const 0xff8))
          (i32.add
            (i32.const 16)
            (i32.rem_u (i32.shr_u (local.get $seed) (i32.const 12)) (i32.const 241))))
        (br $next)))
    (call $digest))

  ;; A checksum of the destination that depends on the order of its words.
  (func $digest (result i64)
    (local $i i32)
    (local $sum i64)
    (loop $next
      (local.set $sum
        (i64.add
          (i64.rotl (local.get $sum) (i64.const 9))
          (i64.load offset=0x140000 (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 8192))))
    (local.get $sum))

  (func (export "of_16") (param i64) (result i64)
    (global.set $size (i32.const 16))
    (call $repeat (local.get 0)))

  (func (export "of_256") (param i64) (result i64)
    (global.set $size (i32.const 256))
    (call $repeat (local.get 0)))

  (func (export "of_1_mib") (param i64) (result i64)
    (global.set $size (i32.const 0x100000))
    (call $repeat (local.get 0)))

  (func (export "mixed") (param i64) (result i64)
    (call $repeat_mixed (local.get 0))))
