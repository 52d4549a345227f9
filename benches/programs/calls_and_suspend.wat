;; A function that calls others and suspends at its end, and the same without the suspension.
;; One operation is a step: a recursive call and four other calls.
(module
  (type $start (func (param i64)))
  (type $walks (cont $start))
  (type $rest (func))
  (type $walked (cont $rest))
  (tag $arrived)
  (elem declare func $walk $stroll)
  (func $leaf (param $n i64) (result i64) (i64.add (local.get $n) (i64.const 1)))

  (func $walk (param $n i64)
    (local $x i64)
    (if (i64.eqz (local.get $n)) (then (suspend $arrived) (return)))
    (local.set $x (call $leaf (local.get $n)))
    (local.set $x (call $leaf (local.get $x)))
    (local.set $x (call $leaf (local.get $x)))
    (local.set $x (call $leaf (local.get $x)))
    (call $walk (i64.sub (local.get $x) (i64.const 5))))

  (func $stroll (param $n i64)
    (local $x i64)
    (if (i64.eqz (local.get $n)) (then (return)))
    (local.set $x (call $leaf (local.get $n)))
    (local.set $x (call $leaf (local.get $x)))
    (local.set $x (call $leaf (local.get $x)))
    (local.set $x (call $leaf (local.get $x)))
    (call $stroll (i64.sub (local.get $x) (i64.const 5))))

  (func (export "suspends") (param $n i64) (result i64)
    (local $i i64)
    (local $rest (ref null $walked))
    (local.set $i (local.get $n))
    (loop $next
      (block $arrived (result (ref $walked))
        (resume $walks (on $arrived $arrived)
          (i64.const 100) (cont.new $walks (ref.func $walk)))
        (unreachable))
      (local.set $rest)
      (resume $walked (local.get $rest))
      (br_if $next
        (i64.gt_s (local.tee $i (i64.sub (local.get $i) (i64.const 100))) (i64.const 0))))
    (local.get $n))

  (func (export "plain") (param $n i64) (result i64)
    (local $i i64)
    (local.set $i (local.get $n))
    (loop $next
      (resume $walks (i64.const 100) (cont.new $walks (ref.func $stroll)))
      (br_if $next
        (i64.gt_s (local.tee $i (i64.sub (local.get $i) (i64.const 100))) (i64.const 0))))
    (local.get $n)))
