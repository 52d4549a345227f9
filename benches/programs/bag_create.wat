;; Lives of stacks of the bag: creates n stacks that retire at once.
;; One operation is one stack.
(module
  (rec
    (type $unary (func (param i64 (ref null $back))))
    (type $fresh (cont $unary))
    (type $rest (func (param i64 (ref null $fresh))))
    (type $back (cont $rest)))
  (import "ropewalk:stack" "new"
    (func $new (param (ref null $unary)) (result (ref $fresh))))
  (import "ropewalk:stack" "switch"
    (func $switch (param i64 (ref null $fresh)) (result i64 (ref null $fresh))))
  (import "ropewalk:stack" "switch_retire"
    (func $switch_retire (param i64 (ref null $back))))
  (elem declare func $increment)

  (func $increment (type $unary) (param $n i64) (param $back (ref null $back))
    (call $switch_retire (i64.add (local.get $n) (i64.const 1)) (local.get $back)))

  (func (export "finish") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $switch (local.get $n) (call $new (ref.func $increment)))
        (drop)
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
