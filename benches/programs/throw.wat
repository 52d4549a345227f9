;; Throwing: n times, an exception with a payload is thrown several calls below the try_table that
;; catches it.
;; One operation is one call of the outermost frame, the throw and the catch.
(module
  (tag $thrown (param i64))

  (func $dive (param $depth i32) (param $x i64) (result i64)
    (if (i32.le_u (local.get $depth) (i32.const 1))
      (then (throw $thrown (local.get $x))))
    (i64.add
      (call $dive (i32.sub (local.get $depth) (i32.const 1)) (local.get $x))
      (i64.const 1)))

  (func $times (param $n i64) (param $depth i32) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $caught (result i64)
          (try_table (catch $thrown $caught)
            (drop (call $dive (local.get $depth) (local.get $n))))
          (i64.const -1))
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "through_1") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1)))

  (func (export "through_10") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 10)))

  (func (export "through_100") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 100))))
