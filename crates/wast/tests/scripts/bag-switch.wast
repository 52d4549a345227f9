;; `switch` suspends the running stack, continues another, and passes it the suspended stack.
;; Stacks have no parents.

(module
  (rec
    (type $to-worker (stack (param i32) (ref $to-main)))
    (type $to-main (stack (param i32 i32) (ref null $to-worker))))
  (type $c (stack (param i32) (ref null $c)))
  (global $log (mut i64) (i64.const 0))
  (func $log (param i32)
    (global.set $log
      (i64.add (i64.mul (global.get $log) (i64.const 10)) (i64.extend_i32_u (local.get 0)))))
  (func (export "log") (result i64) (global.get $log) (global.set $log (i64.const 0)))

  ;; Replies to each number with the number and its square.
  (func $squares (param $n i32) (param $back (ref $to-main))
    (loop $next
      (switch $to-main
        (local.get $n) (i32.mul (local.get $n) (local.get $n)) (local.get $back))
      (local.set $back)
      (local.set $n)
      (br $next)))

  (func (export "folded") (result i32 i32)
    (switch $to-worker (i32.const 3) (stack.new $to-worker $squares))
    (drop))
  (func (export "plain") (result i32 i32)
    i32.const 4
    stack.new $to-worker $squares
    switch $to-worker
    drop)
  (func (export "mixed") (result i32 i32)
    i32.const 5
    (stack.new $to-worker $squares)
    switch $to-worker
    (drop))

  ;; The same stack is used repeatedly, each time by its latest reference.
  (func (export "sum of squares") (param $n i32) (result i32)
    (local $worker (ref null $to-worker))
    (local $sum i32)
    (local.set $worker (stack.new $to-worker $squares))
    (loop $next
      (switch $to-worker (local.get $n) (local.get $worker))
      (local.set $worker)
      (local.set $sum (i32.add (local.get $sum)))
      (drop)
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (local.get $sum))

  ;; The stack stays suspended between host calls.
  (global $worker (mut (ref null $to-worker)) (ref.null $to-worker))
  (func (export "hire") (global.set $worker (stack.new $to-worker $squares)))
  (func (export "square") (param i32) (result i32)
    (switch $to-worker (local.get 0) (global.get $worker))
    (global.set $worker)
    (local.set 0)
    (drop)
    (local.get 0))

  ;; Four stacks form a ring; one is the root. Each receives its number and its predecessor's stack.
  (table $ring 4 (ref null $c))
  (func $before (param i32) (result i32)
    (i32.and (i32.add (local.get 0) (i32.const 3)) (i32.const 3)))
  (func $after (param i32) (result i32)
    (i32.and (i32.add (local.get 0) (i32.const 1)) (i32.const 3)))
  (func $link (param $me i32) (param $left (ref null $c))
    (loop $next
      (table.set $ring (call $before (local.get $me)) (local.get $left))
      (call $log (local.get $me))
      (switch $c (call $after (local.get $me))
        (table.get $ring (call $after (local.get $me))))
      (local.set $left)
      (local.set $me)
      (br $next)))
  (func (export "ring") (param $rounds i32)
    (local $left (ref null $c))
    (table.set $ring (i32.const 1) (stack.new $c $link))
    (table.set $ring (i32.const 2) (stack.new $c $link))
    (table.set $ring (i32.const 3) (stack.new $c $link))
    (loop $next
      (switch $c (i32.const 1) (table.get $ring (i32.const 1)))
      (local.set $left)
      (call $log)
      (table.set $ring (i32.const 3) (local.get $left))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $next (local.get $rounds))))

  ;; A fresh stack does nothing until the first switch to it.
  (func $logs (param i32) (param (ref null $c))
    (call $log (local.get 0))
    (switch_retire $c (i32.const 0) (local.get 1)))
  (func (export "not yet")
    (local $one (ref null $c)) (local $two (ref null $c))
    (local.set $one (stack.new $c $logs))
    (local.set $two (stack.new $c $logs))
    (call $log (i32.const 1))
    (switch $c (i32.const 2) (local.get $two))
    (drop)
    (call $log)
    (switch $c (i32.const 3) (local.get $one))
    (drop)
    (call $log))

  ;; Both sides switch from deep recursion.
  (func $down (param $n i32) (param $s (ref null $c)) (result i32 (ref null $c))
    (if (local.get $n)
      (then
        (call $down (i32.sub (local.get $n) (i32.const 1)) (local.get $s))
        (local.set $s)
        (i32.add (i32.const 1))
        (local.get $s)
        (return)))
    (switch $c (i32.const 0) (local.get $s)))
  (func $deep (param i32) (param (ref null $c))
    (local $n i32)
    (call $down (i32.const 100) (local.get 1))
    (local.set 1)
    (local.set $n)
    (switch_retire $c (local.get $n) (local.get 1)))
  (func (export "deep") (result i32 i32)
    (local $s (ref null $c)) (local $n i32)
    (call $down (i32.const 50) (stack.new $c $deep))
    (local.set $s)
    (local.set $n)
    (local.get $n)
    (switch $c (i32.const 7) (local.get $s))
    (drop)))

(assert_return (invoke "folded") (i32.const 3) (i32.const 9))
(assert_return (invoke "plain") (i32.const 4) (i32.const 16))
(assert_return (invoke "mixed") (i32.const 5) (i32.const 25))
(assert_return (invoke "sum of squares" (i32.const 100)) (i32.const 338350))
(assert_return (invoke "hire"))
(assert_return (invoke "square" (i32.const 11)) (i32.const 121))
(assert_return (invoke "square" (i32.const 12)) (i32.const 144))
(assert_return (invoke "square" (i32.const 13)) (i32.const 169))
(assert_return (invoke "ring" (i32.const 3)))
(assert_return (invoke "log") (i64.const 123012301230))
(assert_return (invoke "not yet"))
(assert_return (invoke "log") (i64.const 12030))
(assert_return (invoke "deep") (i32.const 50) (i32.const 107))
