;; 100,000 tasks one after another, and 10,000 at once, exhaust neither memory nor stacks.
;; They return, retire, throw, are released, or are abandoned fresh or suspended. References to
;; ended tasks stay moribund.

(module
  (type $t (task))
  (tag $x)
  (global $count (mut i32) (i32.const 0))
  (func (export "count") (result i32) (global.get $count) (global.set $count (i32.const 0)))
  (func $counts (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $returns (param $me (ref null $t)) (call $counts))
  (func $suspends (param $me (ref null $t))
    (call $counts) (task.suspend $t (local.get $me)) (call $counts))
  (func $retires (param $me (ref null $t)) (call $counts) (task.retire $t (local.get $me)))
  (func $throws (param $me (ref null $t)) (call $counts) (throw $x))

  (func (export "finished") (param $n i32)
    (loop $next
      (task.resume $t (task.new $t $returns))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func $suspended (result (ref null $t))
    (local $t (ref null $t))
    (local.set $t (task.new $t $suspends))
    (task.resume $t (local.get $t))
    (local.get $t))
  (func (export "suspended once") (param $n i32)
    (loop $next
      (task.resume $t (call $suspended))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned fresh") (param $n i32)
    (loop $next
      (drop (task.new $t $returns))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned suspended") (param $n i32)
    (loop $next
      (drop (call $suspended))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "released") (param $n i32)
    (loop $next
      (task.release $t (call $suspended))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "retired") (param $n i32)
    (loop $next
      (task.resume $t (task.new $t $retires))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "thrown") (param $n i32)
    (loop $next
      (block $h
        (try_table (catch $x $h) (task.resume $t (task.new $t $throws)))
        (unreachable))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; Chains of three tasks are abandoned as a whole.
  (func $chain (param $me (ref null $t)) (param $n i32) (param $outermost (ref null $t))
    (if (ref.is_null (local.get $outermost)) (then (local.set $outermost (local.get $me))))
    (if (local.get $n)
      (then
        (task.resume $t
          (task.new $t $chain (i32.sub (local.get $n) (i32.const 1)) (local.get $outermost))))
      (else (task.suspend $t (local.get $outermost)))))
  (func (export "abandoned chains") (param $n i32)
    (loop $next
      (task.resume $t (task.new $t $chain (i32.const 2) (ref.null $t)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "released chains") (param $n i32)
    (local $t (ref null $t))
    (loop $next
      (local.set $t (task.new $t $chain (i32.const 2) (ref.null $t)))
      (task.resume $t (local.get $t))
      (task.release $t (local.get $t))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  ;; Two tasks hold each other in their frames.
  (type $box (struct (field (mut (ref null $t)))))
  (func $holds (param $me (ref null $t)) (param $box (ref null $box))
    (task.suspend $t (local.get $me))
    (struct.set $box 0 (local.get $box) (ref.null $t)))
  (func (export "abandoned cycles") (param $n i32)
    (local $box (ref null $box))
    (loop $next
      (local.set $box (struct.new_default $box))
      (struct.set $box 0 (local.get $box) (task.new $t $holds (local.get $box)))
      (task.resume $t (struct.get $box 0 (local.get $box)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  (table $t 10000 (ref null $t))
  (func (export "at a time") (param $n i32)
    (local $i i32)
    (loop $next
      (table.set $t (local.get $i) (call $suspended))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $next
      (task.resume $t (table.get $t (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n)))))
  ;; These tasks have ended, so resuming them traps.
  (func (export "resume") (param i32) (task.resume $t (table.get $t (local.get 0)))))

(assert_return (invoke "at a time" (i32.const 10000)))
(assert_return (invoke "count") (i32.const 20000))
(assert_trap (invoke "resume" (i32.const 0)) "task is moribund")
(assert_return (invoke "finished" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "suspended once" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 200000))
(assert_return (invoke "abandoned fresh" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 0))
(assert_return (invoke "abandoned suspended" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "released" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "retired" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "thrown" (i32.const 2000)))
(assert_return (invoke "count") (i32.const 2000))
(assert_return (invoke "abandoned chains" (i32.const 30000)))
(assert_return (invoke "released chains" (i32.const 30000)))
(assert_return (invoke "abandoned cycles" (i32.const 30000)))
(assert_trap (invoke "resume" (i32.const 0)) "task is moribund")
(assert_trap (invoke "resume" (i32.const 5000)) "task is moribund")
(assert_trap (invoke "resume" (i32.const 9999)) "task is moribund")
