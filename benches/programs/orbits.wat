;; Floating point with divisions and roots: run(n) lets five bodies attract each other for n time
;; steps.
;; One operation is one step over ten pairs. The result is the bit pattern of the sum of all
;; coordinates.
(module
  ;; A body is seven f64: position (0, 8, 16), velocity (24, 32, 40), mass (48).
  (memory 1)

  (func $place_body (param $body i32) (param $k f64)
    (f64.store (local.get $body) (f64.mul (local.get $k) (f64.const 3.5)))
    (f64.store offset=8 (local.get $body) (f64.sub (f64.const 2) (local.get $k)))
    (f64.store offset=16 (local.get $body) (f64.mul (local.get $k) (local.get $k)))
    (f64.store offset=24 (local.get $body) (f64.div (f64.const 0.1) (f64.add (local.get $k) (f64.const 1))))
    (f64.store offset=32 (local.get $body) (f64.mul (local.get $k) (f64.const 0.05)))
    (f64.store offset=40 (local.get $body) (f64.const -0.02))
    (f64.store offset=48 (local.get $body) (f64.add (f64.const 0.5) (f64.mul (local.get $k) (f64.const 0.25)))))

  (func $place_all
    (local $i i32)
    (loop $next
      (call $place_body
        (i32.mul (local.get $i) (i32.const 56))
        (f64.convert_i32_u (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 5)))))

  ;; Adds $factor times the distance to the body's velocity.
  (func $push (param $body i32) (param $dx f64) (param $dy f64) (param $dz f64) (param $factor f64)
    (f64.store offset=24 (local.get $body)
      (f64.add (f64.load offset=24 (local.get $body)) (f64.mul (local.get $dx) (local.get $factor))))
    (f64.store offset=32 (local.get $body)
      (f64.add (f64.load offset=32 (local.get $body)) (f64.mul (local.get $dy) (local.get $factor))))
    (f64.store offset=40 (local.get $body)
      (f64.add (f64.load offset=40 (local.get $body)) (f64.mul (local.get $dz) (local.get $factor)))))

  (func $attract (param $a i32) (param $b i32)
    (local $dx f64) (local $dy f64) (local $dz f64)
    (local $square f64)
    (local $force f64)
    (local.set $dx (f64.sub (f64.load (local.get $a)) (f64.load (local.get $b))))
    (local.set $dy (f64.sub (f64.load offset=8 (local.get $a)) (f64.load offset=8 (local.get $b))))
    (local.set $dz (f64.sub (f64.load offset=16 (local.get $a)) (f64.load offset=16 (local.get $b))))
    ;; The 0.01 prevents a division by zero in a near miss.
    (local.set $square
      (f64.add
        (f64.add (f64.mul (local.get $dx) (local.get $dx)) (f64.mul (local.get $dy) (local.get $dy)))
        (f64.add (f64.mul (local.get $dz) (local.get $dz)) (f64.const 0.01))))
    (local.set $force
      (f64.div (f64.const 0.001) (f64.mul (local.get $square) (f64.sqrt (local.get $square)))))
    (call $push (local.get $a) (local.get $dx) (local.get $dy) (local.get $dz)
      (f64.neg (f64.mul (local.get $force) (f64.load offset=48 (local.get $b)))))
    (call $push (local.get $b) (local.get $dx) (local.get $dy) (local.get $dz)
      (f64.mul (local.get $force) (f64.load offset=48 (local.get $a)))))

  (func $attract_all
    (local $a i32)
    (local $b i32)
    (loop $next_a
      (local.set $b (i32.add (local.get $a) (i32.const 56)))
      (loop $next_b
        (call $attract (local.get $a) (local.get $b))
        (local.set $b (i32.add (local.get $b) (i32.const 56)))
        (br_if $next_b (i32.lt_u (local.get $b) (i32.const 280))))
      (local.set $a (i32.add (local.get $a) (i32.const 56)))
      (br_if $next_a (i32.lt_u (local.get $a) (i32.const 224)))))

  (func $move_axis (param $at i32)
    (f64.store (local.get $at)
      (f64.add
        (f64.load (local.get $at))
        (f64.mul (f64.const 0.001) (f64.load offset=24 (local.get $at))))))

  (func $move_all
    (local $body i32)
    (loop $next
      (call $move_axis (local.get $body))
      (call $move_axis (i32.add (local.get $body) (i32.const 8)))
      (call $move_axis (i32.add (local.get $body) (i32.const 16)))
      (local.set $body (i32.add (local.get $body) (i32.const 56)))
      (br_if $next (i32.lt_u (local.get $body) (i32.const 280)))))

  (func $sum_of_places (result f64)
    (local $body i32)
    (local $sum f64)
    (loop $next
      (local.set $sum
        (f64.add (local.get $sum)
          (f64.add
            (f64.load (local.get $body))
            (f64.add (f64.load offset=8 (local.get $body)) (f64.load offset=16 (local.get $body))))))
      (local.set $body (i32.add (local.get $body) (i32.const 56)))
      (br_if $next (i32.lt_u (local.get $body) (i32.const 280))))
    (local.get $sum))

  (func (export "run") (param $n i64) (result i64)
    (call $place_all)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $attract_all)
        (call $move_all)
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.reinterpret_f64 (call $sum_of_places))))
