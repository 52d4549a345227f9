;; The Fibonacci numbers by recursion, `inside` and `outside` of a continuation.
;; One operation is one call.
(module
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (elem declare func $fib)

  (func $fib (type $unary) (param $n i64) (result i64)
    (if (i64.lt_u (local.get $n) (i64.const 2)) (then (return (local.get $n))))
    (i64.add
      (call $fib (i64.sub (local.get $n) (i64.const 1)))
      (call $fib (i64.sub (local.get $n) (i64.const 2)))))

  (func (export "inside") (param $n i64) (result i64)
    (resume $fresh (local.get $n) (cont.new $fresh (ref.func $fib))))

  (func (export "outside") (param $n i64) (result i64)
    (call $fib (local.get $n))))
