;; Lives of continuations: `finish` creates n continuations that return at once, and `abandon`
;; creates n that suspend and are abandoned.
;; One operation is one continuation.
(module
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (type $rest (func (result i64)))
  (type $paused (cont $rest))
  (tag $yield (param i64))
  (elem declare func $increment $stop)

  (func $increment (type $unary) (i64.add (local.get 0) (i64.const 1)))

  (func $stop (type $unary)
    (suspend $yield (i64.add (local.get 0) (i64.const 1)))
    (i64.const 0))

  (func (export "finish") (param $n i64) (result i64)
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

  (func (export "abandon") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $yielded (result i64 (ref $paused))
          (resume $fresh (on $yield $yielded)
            (local.get $n)
            (cont.new $fresh (ref.func $stop)))
          (unreachable))
        (drop)
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
