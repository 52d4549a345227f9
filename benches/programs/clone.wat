;; Clones of continuations, each run to its end: `new` clones a continuation that has not started,
;; and `suspended` one that is suspended in its first frame.
;; For comparison, `made` creates a continuation each time, and `begun` creates one and resumes it
;; to the same suspension.
;; One operation is one continuation.
(module
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (import "ropewalk:cont" "clone" (func $clone (param (ref null $fresh)) (result (ref $fresh))))
  (tag $ask (result i64))
  (elem declare func $increment $asks)

  (func $increment (type $unary) (i64.add (local.get 0) (i64.const 1)))

  (func $asks (type $unary) (i64.add (suspend $ask) (i64.const 1)))

  (func $begin (result (ref $fresh))
    (block $asked (result (ref $fresh))
      (drop (resume $fresh (on $ask $asked) (i64.const 0) (cont.new $fresh (ref.func $asks))))
      (unreachable)))

  (func (export "made") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (resume $fresh (local.get $n) (cont.new $fresh (ref.func $increment)))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "new") (param $n i64) (result i64)
    (local $sum i64) (local $first (ref null $fresh))
    (local.set $first (cont.new $fresh (ref.func $increment)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (resume $fresh (local.get $n) (call $clone (local.get $first)))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "suspended") (param $n i64) (result i64)
    (local $sum i64) (local $first (ref null $fresh))
    (local.set $first (call $begin))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (resume $fresh (local.get $n) (call $clone (local.get $first)))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "begun") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (resume $fresh (local.get $n) (call $begin))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
