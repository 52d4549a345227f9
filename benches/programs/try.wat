;; The cost of a try_table that catches nothing: `with` makes each call inside of one, and `without`
;; makes the same calls.
;; One operation is one call.
(module
  (tag $thrown (param i64))

  (func $step (param $x i64) (param $i i64) (result i64)
    (if (i64.eq (local.get $i) (i64.const -1)) (then (throw $thrown (local.get $x))))
    (i64.add
      (i64.xor (local.get $x) (local.get $i))
      (i64.rotl (local.get $x) (i64.const 7))))

  (func (export "with") (param $n i64) (result i64)
    (local $x i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $x
          (block $caught (result i64)
            (try_table (result i64) (catch $thrown $caught)
              (call $step (local.get $x) (local.get $n)))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $x))

  (func (export "without") (param $n i64) (result i64)
    (local $x i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $x (call $step (local.get $x) (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $x)))
