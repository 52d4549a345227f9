;; Fills arrays of i32 with a changing value, and reads the last element.
;; One operation is one array.fill of the whole array.
(module
  (type $words (array (mut i32)))

  (func $times (param $n i64) (param $length i32) (result i64)
    (local $b (ref $words))
    (local $sum i64)
    (local.set $b (array.new $words (i32.const 9) (local.get $length)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (array.fill $words
          (local.get $b) (i32.const 0) (i32.wrap_i64 (local.get $n)) (local.get $length))
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
