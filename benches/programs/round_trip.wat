;; Suspending and resuming: run(n) adds up n numbers from a generator that counts upwards.
;; One operation is one resume and one suspend that carries an i64.
(module
  (type $generator (func))
  (type $paused (cont $generator))
  (tag $yield (param i64))
  (elem declare func $count)

  (func $count (type $generator)
    (local $i i64)
    (loop $next
      (suspend $yield (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref $paused))
    (local $sum i64)
    (local.set $generator (cont.new $paused (ref.func $count)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $yielded (result i64 (ref $paused))
          (resume $paused (on $yield $yielded) (local.get $generator))
          (unreachable))
        (local.set $generator)
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
