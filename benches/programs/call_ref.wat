;; Calls through typed references: run(n) passes a value through n calls of two functions that swap
;; after each call.
;; One operation is one call.
(module
  (type $unary (func (param i64) (result i64)))
  (elem declare func $rotate $multiply)

  (func $rotate (type $unary) (i64.rotl (local.get 0) (i64.const 13)))
  (func $multiply (type $unary) (i64.add (i64.mul (local.get 0) (i64.const 25)) (i64.const 1)))

  (func $times (param $n i64) (param $this (ref $unary)) (param $that (ref $unary)) (result i64)
    (local $x i64)
    (local $called (ref $unary))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (local.set $x (call_ref $unary (local.get $x) (local.get $this)))
        (local.set $called (local.get $this))
        (local.set $this (local.get $that))
        (local.set $that (local.get $called))
        (br $next)))
    (local.get $x))

  (func (export "run") (param $n i64) (result i64)
    (call $times (local.get $n) (ref.func $rotate) (ref.func $multiply))))
