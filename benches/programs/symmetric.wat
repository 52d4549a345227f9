;; Switching: two players pass a number back and forth and count it down. The one that reaches zero
;; returns a mix of all numbers.
;; One operation is one switch.
(module
  (rec
    (type $player (func (param i64 i64 (ref null $waiting)) (result i64)))
    (type $waiting (cont $player)))
  (tag $pass (result i64))
  (elem declare func $play)

  (func $play (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $waiting)) (result i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (switch $waiting $pass
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (local.get $other))
        (local.set $other)
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (local.get $mixed))

  (func (export "run") (param $n i64) (result i64)
    (resume $waiting (on $pass switch)
      (local.get $n)
      (i64.const 1)
      (cont.new $waiting (ref.func $play))
      (cont.new $waiting (ref.func $play)))))
