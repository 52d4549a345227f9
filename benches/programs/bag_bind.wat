;; Passing a value to a new stack of the bag before another value: `bound` by `stack.bind`,
;; `switched` by a switch to the stack, which switches back at once.
;; One operation is one stack, which retires when it has both values.
(module
  (rec
    (type $pair (func (param i64 i64 (ref null $back))))
    (type $of_pair (cont $pair))
    (type $single (func (param i64 (ref null $back))))
    (type $of_single (cont $single))
    (type $result (func (param i64 (ref null $end))))
    (type $back (cont $result))
    (type $nothing (func (param (ref null $end))))
    (type $end (cont $nothing)))
  (rec
    (type $first (func (param i64 (ref null $waiting))))
    (type $of_first (cont $first))
    (type $wait (func (param (ref null $of_single))))
    (type $waiting (cont $wait)))
  (import "ropewalk:stack" "new"
    (func $new (param (ref null $pair)) (result (ref $of_pair))))
  (import "ropewalk:stack" "new"
    (func $new_first (param (ref null $first)) (result (ref $of_first))))
  (import "ropewalk:stack" "bind"
    (func $bind (param i64 (ref null $of_pair)) (result (ref $of_single))))
  (import "ropewalk:stack" "switch"
    (func $give (param i64 (ref null $of_single)) (result i64 (ref null $end))))
  (import "ropewalk:stack" "switch"
    (func $begin (param i64 (ref null $of_first)) (result (ref null $of_single))))
  (import "ropewalk:stack" "switch"
    (func $go_back (param (ref null $waiting)) (result i64 (ref null $back))))
  (import "ropewalk:stack" "switch_retire"
    (func $retire (param i64 (ref null $back))))
  (elem declare func $both $one)

  (func $both (type $pair) (param $a i64) (param $b i64) (param $back (ref null $back))
    (call $retire (i64.add (local.get $a) (local.get $b)) (local.get $back)))

  (func $one (type $first) (param $a i64) (param $waiting (ref null $waiting))
    (local $back (ref null $back))
    (call $go_back (local.get $waiting))
    (local.set $back)
    (local.set $a (i64.add (local.get $a)))
    (call $retire (local.get $a) (local.get $back)))

  (func (export "bound") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (call $give (local.get $n) (call $bind (i64.const 1) (call $new (ref.func $both))))
      (drop)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "switched") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (call $give (local.get $n) (call $begin (i64.const 1) (call $new_first (ref.func $one))))
      (drop)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum)))
