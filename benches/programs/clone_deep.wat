;; Copies of a continuation that waits in DEPTH frames, which are made again and again and
;; forgotten; `begun` makes as many, each resumed up to where the other waits.
;; One operation is one continuation.
(module
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (tag $ask (result i64))
  (import "ropewalk:cont" "clone" (func $clone (param (ref null $fresh)) (result (ref $fresh))))
  (elem declare func $down)

  (func $down (type $unary)
    (if (result i64) (i64.eqz (local.get 0))
      (then (suspend $ask))
      (else
        (i64.add (local.get 0) (call $down (i64.sub (local.get 0) (i64.const 1)))))))

  (func $begin (result (ref $fresh))
    (block $asked (result (ref $fresh))
      (drop (resume $fresh (on $ask $asked) (i64.const DEPTH) (cont.new $fresh (ref.func $down))))
      (unreachable)))

  (func (export "copied") (param $n i64) (result i64)
    (local $sum i64) (local $first (ref null $fresh))
    (local.set $first (call $begin))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (drop (call $clone (local.get $first)))
        (local.set $sum (i64.add (local.get $sum) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "begun") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (drop (call $begin))
        (local.set $sum (i64.add (local.get $sum) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
