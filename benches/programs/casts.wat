;; Casts: objects of eight types, in four levels of subtyping, come in turn from an array of anyref.
;; One operation is one object. `chain` casts it down four levels. `tests` tests it for four types.
;; `branches` finds its type with br_on_cast, and reads the field that only that type has.
(module
  (type $one (sub (struct (field $a i64))))
  (type $two (sub $one (struct (field $a i64) (field $b i64))))
  (type $three (sub $two (struct (field $a i64) (field $b i64) (field $c i64))))
  (type $four (sub final $three
    (struct (field $a i64) (field $b i64) (field $c i64) (field $d i64))))
  (type $other_two (sub final $one (struct (field $a i64) (field $z i64))))
  (type $other_three (sub final $two (struct (field $a i64) (field $b i64) (field $y i64))))
  (type $objects (array (mut anyref)))

  (func $four (param $x i64) (result anyref)
    (struct.new $four (local.get $x) (i64.const 2) (i64.const 3) (i64.const 4)))

  (func $fours (result (ref $objects))
    (array.new_fixed $objects 8
      (call $four (i64.const 1)) (call $four (i64.const 2))
      (call $four (i64.const 3)) (call $four (i64.const 4))
      (call $four (i64.const 5)) (call $four (i64.const 6))
      (call $four (i64.const 7)) (call $four (i64.const 8))))

  (func $mixed (result (ref $objects))
    (array.new_fixed $objects 8
      (struct.new $one (i64.const 1))
      (call $four (i64.const 2))
      (struct.new $two (i64.const 3) (i64.const 30))
      (struct.new $other_two (i64.const 4) (i64.const 40))
      (struct.new $three (i64.const 5) (i64.const 50) (i64.const 500))
      (struct.new $other_three (i64.const 6) (i64.const 60) (i64.const 600))
      (ref.i31 (i32.const 7))
      (call $four (i64.const 8))))

  (func $pick (param $objects (ref $objects)) (param $n i64) (result anyref)
    (array.get $objects
      (local.get $objects)
      (i32.and (i32.wrap_i64 (local.get $n)) (i32.const 7))))

  (func $descend (param $object anyref) (result i64)
    (local $one (ref $one))
    (local $two (ref $two))
    (local $three (ref $three))
    (local.set $one (ref.cast (ref $one) (local.get $object)))
    (local.set $two (ref.cast (ref $two) (local.get $one)))
    (local.set $three (ref.cast (ref $three) (local.get $two)))
    (i64.add
      (struct.get $one $a (local.get $one))
      (struct.get $four $d (ref.cast (ref $four) (local.get $three)))))

  (func $test_bits (param $object anyref) (result i64)
    (i64.extend_i32_u
      (i32.or
        (i32.or
          (ref.test (ref $two) (local.get $object))
          (i32.shl (ref.test (ref $four) (local.get $object)) (i32.const 1)))
        (i32.or
          (i32.shl (ref.test (ref $other_two) (local.get $object)) (i32.const 2))
          (i32.shl (ref.test i31ref (local.get $object)) (i32.const 3))))))

  (func $dispatch (param $object anyref) (result i64)
    (block $is_four (result (ref $four))
      (block $is_other_three (result (ref $other_three))
        (block $is_other_two (result (ref $other_two))
          (block $is_one (result (ref $one))
            (drop (br_on_cast $is_four anyref (ref $four) (local.get $object)))
            (drop (br_on_cast $is_other_three anyref (ref $other_three) (local.get $object)))
            (drop (br_on_cast $is_other_two anyref (ref $other_two) (local.get $object)))
            (drop (br_on_cast $is_one anyref (ref $one) (local.get $object)))
            (return (i64.const 1)))
          (return (struct.get $one $a)))
        (return (struct.get $other_two $z)))
      (return (struct.get $other_three $y)))
    (struct.get $four $d))

  (func (export "chain") (param $n i64) (result i64)
    (local $objects (ref $objects))
    (local $sum i64)
    (local.set $objects (call $fours))
    (loop $next
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (local.set $sum
        (i64.add
          (local.get $sum)
          (call $descend (call $pick (local.get $objects) (local.get $n)))))
      (br_if $next (i64.ne (local.get $n) (i64.const 0))))
    (local.get $sum))

  (func (export "tests") (param $n i64) (result i64)
    (local $objects (ref $objects))
    (local $sum i64)
    (local.set $objects (call $mixed))
    (loop $next
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (local.set $sum
        (i64.add
          (i64.rotl (local.get $sum) (i64.const 1))
          (call $test_bits (call $pick (local.get $objects) (local.get $n)))))
      (br_if $next (i64.ne (local.get $n) (i64.const 0))))
    (local.get $sum))

  (func (export "branches") (param $n i64) (result i64)
    (local $objects (ref $objects))
    (local $sum i64)
    (local.set $objects (call $mixed))
    (loop $next
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (local.set $sum
        (i64.add
          (local.get $sum)
          (call $dispatch (call $pick (local.get $objects) (local.get $n)))))
      (br_if $next (i64.ne (local.get $n) (i64.const 0))))
    (local.get $sum)))
