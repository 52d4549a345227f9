;; Switching between stacks of the bag: the players of symmetric.wat, on stacks without parents. The
;; one that reaches zero switches to the initial stack.
;; One operation is one switch.
(module
  (rec
    (type $player (func (param i64 i64 (ref null $waiting))))
    (type $waiting (cont $player)))
  (import "ropewalk:stack" "new"
    (func $new (param (ref null $player)) (result (ref $waiting))))
  (import "ropewalk:stack" "switch"
    (func $switch (param i64 i64 (ref null $waiting)) (result i64 i64 (ref null $waiting))))
  (import "ropewalk:stack" "switch_retire"
    (func $switch_retire (param i64 i64 (ref null $waiting))))
  (global $home (mut (ref null $waiting)) (ref.null $waiting))
  (elem declare func $begin $play)

  (func $begin (type $player)
    (param $n i64) (param $mixed i64) (param $home (ref null $waiting))
    (global.set $home (local.get $home))
    (return_call $play (local.get $n) (local.get $mixed) (call $new (ref.func $play))))

  (func $play (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $waiting))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $switch
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (local.get $other))
        (local.set $other)
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (call $switch_retire (i64.const 0) (local.get $mixed) (global.get $home)))

  (func (export "run") (param $n i64) (result i64)
    (call $switch (local.get $n) (i64.const 1) (call $new (ref.func $begin)))
    (drop)
    (local.set $n)
    (drop)
    (local.get $n)))
