;; 20 and 100 values travel as arguments, payloads and results, and by every instruction.

(module
  (type $f20 (func
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
  (type $k20 (cont $f20))
  (type $h20 (func
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
  (type $hk20 (cont $h20))
  (tag $e20
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (tag $x20
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (elem declare func $body20)
  (func $body20 (type $f20)
    (suspend $e20
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
      (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
      (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
      (local.get 18) (local.get 19)))
  (func (export "20 values")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (local $k (ref $k20))
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k20))
      (return (resume $k20 (on $e20 $h)
        (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
        (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
        (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
        (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
        (cont.new $k20 (ref.func $body20)))))
    (resume $k20))
  (func (export "20 values, half of them bound")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k20))
      (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
      (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
      (cont.bind $k20 $hk20
        (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
        (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
        (cont.new $k20 (ref.func $body20)))
      (resume $hk20 (on $e20 $h))
      (return))
    (resume $k20))
  (func (export "20 values thrown")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (local $k (ref $k20))
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k20))
      (return (resume $k20 (on $e20 $h)
        (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 4)
        (i32.const 6) (i64.const 7) (f32.const 8) (f64.const 9) (v128.const i64x2 10 9)
        (i32.const 11) (i64.const 12) (f32.const 13) (f64.const 14) (v128.const i64x2 15 14)
        (i32.const 16) (i64.const 17) (f32.const 18) (f64.const 19) (v128.const i64x2 20 19)
        (cont.new $k20 (ref.func $body20)))))
    (local.set $k)
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
      (try_table (catch $x20 $h)
        (resume_throw $k20 $x20
          (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
          (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
          (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
          (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
          (local.get $k))
        (return))
      (unreachable)))
  (rec
    (type $sf20 (func
      (param
        i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref null $sk20))
      (result
        i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
    (type $sk20 (cont $sf20)))
  (tag $s20
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (elem declare func $first20 $second20)
  ;; The first switches to the second, which returns what it receives.
  (func $second20 (type $sf20)
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
    (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
    (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
    (local.get 18) (local.get 19))
  (func $first20 (type $sf20)
    (switch $sk20 $s20
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
      (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
      (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
      (local.get 18) (local.get 19)
      (cont.new $sk20 (ref.func $second20)))
    (drop))
  (func (export "20 values switched")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (resume $sk20 (on $s20 switch)
      (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
      (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
      (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
      (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
      (ref.null $sk20)
      (cont.new $sk20 (ref.func $first20))))
  (type $f100 (func
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
  (type $k100 (cont $f100))
  (type $h100 (func
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
  (type $hk100 (cont $h100))
  (tag $e100
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (tag $x100
    (param
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (elem declare func $body100)
  (func $body100 (type $f100)
    (suspend $e100
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
      (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
      (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
      (local.get 18) (local.get 19) (local.get 20) (local.get 21) (local.get 22) (local.get 23)
      (local.get 24) (local.get 25) (local.get 26) (local.get 27) (local.get 28) (local.get 29)
      (local.get 30) (local.get 31) (local.get 32) (local.get 33) (local.get 34) (local.get 35)
      (local.get 36) (local.get 37) (local.get 38) (local.get 39) (local.get 40) (local.get 41)
      (local.get 42) (local.get 43) (local.get 44) (local.get 45) (local.get 46) (local.get 47)
      (local.get 48) (local.get 49) (local.get 50) (local.get 51) (local.get 52) (local.get 53)
      (local.get 54) (local.get 55) (local.get 56) (local.get 57) (local.get 58) (local.get 59)
      (local.get 60) (local.get 61) (local.get 62) (local.get 63) (local.get 64) (local.get 65)
      (local.get 66) (local.get 67) (local.get 68) (local.get 69) (local.get 70) (local.get 71)
      (local.get 72) (local.get 73) (local.get 74) (local.get 75) (local.get 76) (local.get 77)
      (local.get 78) (local.get 79) (local.get 80) (local.get 81) (local.get 82) (local.get 83)
      (local.get 84) (local.get 85) (local.get 86) (local.get 87) (local.get 88) (local.get 89)
      (local.get 90) (local.get 91) (local.get 92) (local.get 93) (local.get 94) (local.get 95)
      (local.get 96) (local.get 97) (local.get 98) (local.get 99)))
  (func (export "100 values")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (local $k (ref $k100))
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k100))
      (return (resume $k100 (on $e100 $h)
        (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
        (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
        (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
        (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
        (i32.const 20) (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24)
        (i32.const 25) (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29)
        (i32.const 30) (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34)
        (i32.const 35) (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39)
        (i32.const 40) (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44)
        (i32.const 45) (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49)
        (i32.const 50) (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54)
        (i32.const 55) (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59)
        (i32.const 60) (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64)
        (i32.const 65) (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69)
        (i32.const 70) (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74)
        (i32.const 75) (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79)
        (i32.const 80) (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84)
        (i32.const 85) (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89)
        (i32.const 90) (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94)
        (i32.const 95) (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99)
        (cont.new $k100 (ref.func $body100)))))
    (resume $k100))
  (func (export "100 values, half of them bound")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k100))
      (i32.const 50) (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54)
      (i32.const 55) (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59)
      (i32.const 60) (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64)
      (i32.const 65) (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69)
      (i32.const 70) (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74)
      (i32.const 75) (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79)
      (i32.const 80) (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84)
      (i32.const 85) (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89)
      (i32.const 90) (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94)
      (i32.const 95) (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99)
      (cont.bind $k100 $hk100
        (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
        (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
        (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
        (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
        (i32.const 20) (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24)
        (i32.const 25) (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29)
        (i32.const 30) (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34)
        (i32.const 35) (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39)
        (i32.const 40) (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44)
        (i32.const 45) (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49)
        (cont.new $k100 (ref.func $body100)))
      (resume $hk100 (on $e100 $h))
      (return))
    (resume $k100))
  (func (export "100 values thrown")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (local $k (ref $k100))
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref $k100))
      (return (resume $k100 (on $e100 $h)
        (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i64x2 5 4)
        (i32.const 6) (i64.const 7) (f32.const 8) (f64.const 9) (v128.const i64x2 10 9)
        (i32.const 11) (i64.const 12) (f32.const 13) (f64.const 14) (v128.const i64x2 15 14)
        (i32.const 16) (i64.const 17) (f32.const 18) (f64.const 19) (v128.const i64x2 20 19)
        (i32.const 21) (i64.const 22) (f32.const 23) (f64.const 24) (v128.const i64x2 25 24)
        (i32.const 26) (i64.const 27) (f32.const 28) (f64.const 29) (v128.const i64x2 30 29)
        (i32.const 31) (i64.const 32) (f32.const 33) (f64.const 34) (v128.const i64x2 35 34)
        (i32.const 36) (i64.const 37) (f32.const 38) (f64.const 39) (v128.const i64x2 40 39)
        (i32.const 41) (i64.const 42) (f32.const 43) (f64.const 44) (v128.const i64x2 45 44)
        (i32.const 46) (i64.const 47) (f32.const 48) (f64.const 49) (v128.const i64x2 50 49)
        (i32.const 51) (i64.const 52) (f32.const 53) (f64.const 54) (v128.const i64x2 55 54)
        (i32.const 56) (i64.const 57) (f32.const 58) (f64.const 59) (v128.const i64x2 60 59)
        (i32.const 61) (i64.const 62) (f32.const 63) (f64.const 64) (v128.const i64x2 65 64)
        (i32.const 66) (i64.const 67) (f32.const 68) (f64.const 69) (v128.const i64x2 70 69)
        (i32.const 71) (i64.const 72) (f32.const 73) (f64.const 74) (v128.const i64x2 75 74)
        (i32.const 76) (i64.const 77) (f32.const 78) (f64.const 79) (v128.const i64x2 80 79)
        (i32.const 81) (i64.const 82) (f32.const 83) (f64.const 84) (v128.const i64x2 85 84)
        (i32.const 86) (i64.const 87) (f32.const 88) (f64.const 89) (v128.const i64x2 90 89)
        (i32.const 91) (i64.const 92) (f32.const 93) (f64.const 94) (v128.const i64x2 95 94)
        (i32.const 96) (i64.const 97) (f32.const 98) (f64.const 99) (v128.const i64x2 100 99)
        (cont.new $k100 (ref.func $body100)))))
    (local.set $k)
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop drop
    drop drop drop drop drop drop drop drop drop drop
    (block $h
      (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
      (try_table (catch $x100 $h)
        (resume_throw $k100 $x100
          (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
          (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
          (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
          (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
          (i32.const 20) (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24)
          (i32.const 25) (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29)
          (i32.const 30) (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34)
          (i32.const 35) (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39)
          (i32.const 40) (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44)
          (i32.const 45) (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49)
          (i32.const 50) (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54)
          (i32.const 55) (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59)
          (i32.const 60) (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64)
          (i32.const 65) (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69)
          (i32.const 70) (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74)
          (i32.const 75) (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79)
          (i32.const 80) (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84)
          (i32.const 85) (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89)
          (i32.const 90) (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94)
          (i32.const 95) (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99)
          (local.get $k))
        (return))
      (unreachable)))
  (rec
    (type $sf100 (func
      (param
        i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
        i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
        f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
        f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
        v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128
        (ref null $sk100))
      (result
        i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
        i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
        f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
        f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
        v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)))
    (type $sk100 (cont $sf100)))
  (tag $s100
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128))
  (elem declare func $first100 $second100)
  ;; The first switches to the second, which returns what it receives.
  (func $second100 (type $sf100)
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
    (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
    (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
    (local.get 18) (local.get 19) (local.get 20) (local.get 21) (local.get 22) (local.get 23)
    (local.get 24) (local.get 25) (local.get 26) (local.get 27) (local.get 28) (local.get 29)
    (local.get 30) (local.get 31) (local.get 32) (local.get 33) (local.get 34) (local.get 35)
    (local.get 36) (local.get 37) (local.get 38) (local.get 39) (local.get 40) (local.get 41)
    (local.get 42) (local.get 43) (local.get 44) (local.get 45) (local.get 46) (local.get 47)
    (local.get 48) (local.get 49) (local.get 50) (local.get 51) (local.get 52) (local.get 53)
    (local.get 54) (local.get 55) (local.get 56) (local.get 57) (local.get 58) (local.get 59)
    (local.get 60) (local.get 61) (local.get 62) (local.get 63) (local.get 64) (local.get 65)
    (local.get 66) (local.get 67) (local.get 68) (local.get 69) (local.get 70) (local.get 71)
    (local.get 72) (local.get 73) (local.get 74) (local.get 75) (local.get 76) (local.get 77)
    (local.get 78) (local.get 79) (local.get 80) (local.get 81) (local.get 82) (local.get 83)
    (local.get 84) (local.get 85) (local.get 86) (local.get 87) (local.get 88) (local.get 89)
    (local.get 90) (local.get 91) (local.get 92) (local.get 93) (local.get 94) (local.get 95)
    (local.get 96) (local.get 97) (local.get 98) (local.get 99))
  (func $first100 (type $sf100)
    (switch $sk100 $s100
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
      (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
      (local.get 12) (local.get 13) (local.get 14) (local.get 15) (local.get 16) (local.get 17)
      (local.get 18) (local.get 19) (local.get 20) (local.get 21) (local.get 22) (local.get 23)
      (local.get 24) (local.get 25) (local.get 26) (local.get 27) (local.get 28) (local.get 29)
      (local.get 30) (local.get 31) (local.get 32) (local.get 33) (local.get 34) (local.get 35)
      (local.get 36) (local.get 37) (local.get 38) (local.get 39) (local.get 40) (local.get 41)
      (local.get 42) (local.get 43) (local.get 44) (local.get 45) (local.get 46) (local.get 47)
      (local.get 48) (local.get 49) (local.get 50) (local.get 51) (local.get 52) (local.get 53)
      (local.get 54) (local.get 55) (local.get 56) (local.get 57) (local.get 58) (local.get 59)
      (local.get 60) (local.get 61) (local.get 62) (local.get 63) (local.get 64) (local.get 65)
      (local.get 66) (local.get 67) (local.get 68) (local.get 69) (local.get 70) (local.get 71)
      (local.get 72) (local.get 73) (local.get 74) (local.get 75) (local.get 76) (local.get 77)
      (local.get 78) (local.get 79) (local.get 80) (local.get 81) (local.get 82) (local.get 83)
      (local.get 84) (local.get 85) (local.get 86) (local.get 87) (local.get 88) (local.get 89)
      (local.get 90) (local.get 91) (local.get 92) (local.get 93) (local.get 94) (local.get 95)
      (local.get 96) (local.get 97) (local.get 98) (local.get 99)
      (cont.new $sk100 (ref.func $second100)))
    (drop))
  (func (export "100 values switched")
    (result
      i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32
      i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64
      f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32
      f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64
      v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128 i32 i64 f32 f64 v128)
    (resume $sk100 (on $s100 switch)
      (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4)
      (i32.const 5) (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9)
      (i32.const 10) (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14)
      (i32.const 15) (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19)
      (i32.const 20) (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24)
      (i32.const 25) (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29)
      (i32.const 30) (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34)
      (i32.const 35) (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39)
      (i32.const 40) (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44)
      (i32.const 45) (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49)
      (i32.const 50) (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54)
      (i32.const 55) (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59)
      (i32.const 60) (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64)
      (i32.const 65) (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69)
      (i32.const 70) (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74)
      (i32.const 75) (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79)
      (i32.const 80) (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84)
      (i32.const 85) (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89)
      (i32.const 90) (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94)
      (i32.const 95) (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99)
      (ref.null $sk100)
      (cont.new $sk100 (ref.func $first100))))
)

(assert_return (invoke "20 values")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19))
(assert_return (invoke "20 values, half of them bound")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19))
(assert_return (invoke "20 values thrown")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19))
(assert_return (invoke "20 values switched")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19))
(assert_return (invoke "100 values")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19) (i32.const 20)
  (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24) (i32.const 25)
  (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29) (i32.const 30)
  (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34) (i32.const 35)
  (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39) (i32.const 40)
  (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44) (i32.const 45)
  (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49) (i32.const 50)
  (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54) (i32.const 55)
  (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59) (i32.const 60)
  (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64) (i32.const 65)
  (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69) (i32.const 70)
  (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74) (i32.const 75)
  (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79) (i32.const 80)
  (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84) (i32.const 85)
  (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89) (i32.const 90)
  (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94) (i32.const 95)
  (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99))
(assert_return (invoke "100 values, half of them bound")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19) (i32.const 20)
  (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24) (i32.const 25)
  (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29) (i32.const 30)
  (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34) (i32.const 35)
  (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39) (i32.const 40)
  (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44) (i32.const 45)
  (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49) (i32.const 50)
  (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54) (i32.const 55)
  (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59) (i32.const 60)
  (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64) (i32.const 65)
  (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69) (i32.const 70)
  (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74) (i32.const 75)
  (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79) (i32.const 80)
  (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84) (i32.const 85)
  (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89) (i32.const 90)
  (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94) (i32.const 95)
  (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99))
(assert_return (invoke "100 values thrown")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19) (i32.const 20)
  (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24) (i32.const 25)
  (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29) (i32.const 30)
  (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34) (i32.const 35)
  (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39) (i32.const 40)
  (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44) (i32.const 45)
  (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49) (i32.const 50)
  (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54) (i32.const 55)
  (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59) (i32.const 60)
  (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64) (i32.const 65)
  (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69) (i32.const 70)
  (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74) (i32.const 75)
  (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79) (i32.const 80)
  (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84) (i32.const 85)
  (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89) (i32.const 90)
  (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94) (i32.const 95)
  (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99))
(assert_return (invoke "100 values switched")
  (i32.const 0) (i64.const 1) (f32.const 2) (f64.const 3) (v128.const i64x2 4 4) (i32.const 5)
  (i64.const 6) (f32.const 7) (f64.const 8) (v128.const i64x2 9 9) (i32.const 10)
  (i64.const 11) (f32.const 12) (f64.const 13) (v128.const i64x2 14 14) (i32.const 15)
  (i64.const 16) (f32.const 17) (f64.const 18) (v128.const i64x2 19 19) (i32.const 20)
  (i64.const 21) (f32.const 22) (f64.const 23) (v128.const i64x2 24 24) (i32.const 25)
  (i64.const 26) (f32.const 27) (f64.const 28) (v128.const i64x2 29 29) (i32.const 30)
  (i64.const 31) (f32.const 32) (f64.const 33) (v128.const i64x2 34 34) (i32.const 35)
  (i64.const 36) (f32.const 37) (f64.const 38) (v128.const i64x2 39 39) (i32.const 40)
  (i64.const 41) (f32.const 42) (f64.const 43) (v128.const i64x2 44 44) (i32.const 45)
  (i64.const 46) (f32.const 47) (f64.const 48) (v128.const i64x2 49 49) (i32.const 50)
  (i64.const 51) (f32.const 52) (f64.const 53) (v128.const i64x2 54 54) (i32.const 55)
  (i64.const 56) (f32.const 57) (f64.const 58) (v128.const i64x2 59 59) (i32.const 60)
  (i64.const 61) (f32.const 62) (f64.const 63) (v128.const i64x2 64 64) (i32.const 65)
  (i64.const 66) (f32.const 67) (f64.const 68) (v128.const i64x2 69 69) (i32.const 70)
  (i64.const 71) (f32.const 72) (f64.const 73) (v128.const i64x2 74 74) (i32.const 75)
  (i64.const 76) (f32.const 77) (f64.const 78) (v128.const i64x2 79 79) (i32.const 80)
  (i64.const 81) (f32.const 82) (f64.const 83) (v128.const i64x2 84 84) (i32.const 85)
  (i64.const 86) (f32.const 87) (f64.const 88) (v128.const i64x2 89 89) (i32.const 90)
  (i64.const 91) (f32.const 92) (f64.const 93) (v128.const i64x2 94 94) (i32.const 95)
  (i64.const 96) (f32.const 97) (f64.const 98) (v128.const i64x2 99 99))
