;; One operation is a resume of `body`, by the host or by `guest`, and a suspension with a number.
(module
  (type $f (func))
  (type $k (cont $f))
  (tag $ask (export "ask") (param i64))
  (elem declare func $body)

  (func $body (export "body") (local $i i64)
    (loop $more
      (suspend $ask (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $more)))

  (func (export "guest") (param $n i64) (result i64) (local $sum i64) (local $k (ref null $k))
    (local.set $k (cont.new $k (ref.func $body)))
    (loop $more
      (block $asked (result i64 (ref $k))
        (resume $k (on $ask $asked) (local.get $k))
        (unreachable))
      (local.set $k)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $more (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum)))
