;; Switching to a stack of the bag and back: the generator of round_trip.wat. The root stack takes
;; the numbers.
;; One operation is one switch there, and one back that carries an i64.
(module
  (rec
    (type $generator (func (param (ref null $taker))))
    (type $paused (cont $generator))
    (type $yielded (func (param i64 (ref null $paused))))
    (type $taker (cont $yielded)))
  (import "ropewalk:stack" "new"
    (func $new (param (ref null $generator)) (result (ref $paused))))
  (import "ropewalk:stack" "switch"
    (func $take (param (ref null $paused)) (result i64 (ref null $paused))))
  (import "ropewalk:stack" "switch"
    (func $yield (param i64 (ref null $taker)) (result (ref null $taker))))
  (elem declare func $count)

  (func $count (type $generator) (param $taker (ref null $taker))
    (local $i i64)
    (loop $next
      (local.set $taker (call $yield (local.get $i) (local.get $taker)))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func (export "run") (param $n i64) (result i64)
    (local $generator (ref null $paused))
    (local $sum i64)
    (local.set $generator (call $new (ref.func $count)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $take (local.get $generator))
        (local.set $generator)
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
