;; Direct calls: run(n) passes a value through n calls of one small function.
;; One operation is one call, its body and the loop around it.
(module
  (func $step (param $x i64) (param $i i64) (result i64)
    (i64.add
      (i64.xor (local.get $x) (local.get $i))
      (i64.rotl (local.get $x) (i64.const 7))))

  (func (export "run") (param $n i64) (result i64)
    (local $x i64)
    (local.set $x (i64.const 1))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $x (call $step (local.get $x) (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $x)))
