;; A recursion to the depth of its argument, on the `root` and in a `continuation`.
;; One operation is one call.
(module
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (elem declare func $down)

  (func $down (type $unary) (param $n i64) (result i64)
    (if (i64.eqz (local.get $n)) (then (return (i64.const 0))))
    (i64.add (i64.const 1) (call $down (i64.sub (local.get $n) (i64.const 1)))))

  (func (export "root") (param $n i64) (result i64)
    (call $down (local.get $n)))

  (func (export "continuation") (param $n i64) (result i64)
    (resume $fresh (local.get $n) (cont.new $fresh (ref.func $down)))))
