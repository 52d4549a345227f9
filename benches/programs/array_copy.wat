;; Copies one array of i32 to another after a change, and reads the last element.
;; One operation is one array.copy of the whole array.
(module
  (type $words (array (mut i32)))

  (func $times (param $n i64) (param $length i32) (result i64)
    (local $a (ref $words))
    (local $b (ref $words))
    (local $sum i64)
    (local.set $a (array.new $words (i32.const 7) (local.get $length)))
    (local.set $b (array.new $words (i32.const 9) (local.get $length)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (array.set $words
          (local.get $a)
          (i32.sub (local.get $length) (i32.const 1))
          (i32.wrap_i64 (local.get $n)))
        (array.copy $words $words
          (local.get $b) (i32.const 0) (local.get $a) (i32.const 0) (local.get $length))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (i64.extend_i32_u
              (array.get $words
                (local.get $b)
                (i32.sub (local.get $length) (i32.const 1))))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "of_64") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 64)))

  (func (export "of_100k") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 100000))))
