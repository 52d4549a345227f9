;; `task.switchto` suspends a task and resumes another under the same parent.
;; The parent receives the other's values.

(module
  (type $t (task (param i32) (result i32)))
  (type $u (task (param i64 i64) (result i32)))
  (global $a (mut (ref null $t)) (ref.null $t))
  (global $b (mut (ref null $u)) (ref.null $u))
  (global $c (mut (ref null $t)) (ref.null $t))
  (global $log (mut i64) (i64.const 0))
  (func $log (param i32)
    (global.set $log
      (i64.add (i64.mul (global.get $log) (i64.const 10)) (i64.extend_i32_u (local.get 0)))))
  (func (export "log") (result i64) (global.get $log) (global.set $log (i64.const 0)))

  ;; A switches to B, and returns its value plus one when it is resumed.
  (func $a (param $me (ref null $t)) (param $n i32) (result i32)
    (call $log (i32.const 1))
    (i32.add (i32.const 1)
      (task.switchto $t $u (local.get $me) (global.get $b)
        (i64.extend_i32_s (local.get $n)) (i64.const 20)))
    (call $log (i32.const 2)))
  ;; B returns the sum to A's parent.
  (func $b (param $me (ref null $u)) (param $x i64) (param $y i64) (result i32)
    (call $log (i32.const 3))
    (i32.wrap_i64 (i64.add (local.get $x) (local.get $y))))
  ;; B switches back to A.
  (func $b-back (param $me (ref null $u)) (param $x i64) (param $y i64) (result i32)
    (call $log (i32.const 4))
    (task.switchto $u $t (local.get $me) (global.get $a)
      (i32.wrap_i64 (i64.mul (local.get $x) (local.get $y))))
    (drop)
    (drop)
    (call $log (i32.const 5))
    (i32.const -1))
  (func $b-plain (param $me (ref null $u)) (param $x i64) (param $y i64) (result i32)
    local.get $me
    global.get $a
    i32.const 41
    task.switchto $u $t
    drop
    drop
    i32.const -2)
  (func (export "new") (param $which i32)
    (global.set $a (task.new $t $a))
    (if (i32.eq (local.get $which) (i32.const 0))
      (then (global.set $b (task.new $u $b))))
    (if (i32.eq (local.get $which) (i32.const 1))
      (then (global.set $b (task.new $u $b-back))))
    (if (i32.eq (local.get $which) (i32.const 2))
      (then (global.set $b (task.new $u $b-plain)))))
  (func (export "resume a") (param i32) (result i32)
    (task.resume $t (global.get $a) (local.get 0)))
  (func (export "resume b") (result i32)
    (task.resume $u (global.get $b) (i64.const 0) (i64.const 0)))

  ;; Five tasks form a ring and switch a million times in total under one `task.resume`.
  (table $ring 5 (ref null $t))
  (func $link (param $me (ref null $t)) (param $n i32) (param $next i32) (result i32)
    (loop $again
      (if (i32.eqz (local.get $n)) (then (return (local.get $next))))
      (local.set $n
        (task.switchto $t $t (local.get $me) (table.get $ring (local.get $next))
          (i32.sub (local.get $n) (i32.const 1))))
      (br $again))
    (unreachable))
  (func (export "ring") (param i32) (result i32)
    (table.set $ring (i32.const 0) (task.new $t $link (i32.const 1)))
    (table.set $ring (i32.const 1) (task.new $t $link (i32.const 2)))
    (table.set $ring (i32.const 2) (task.new $t $link (i32.const 3)))
    (table.set $ring (i32.const 3) (task.new $t $link (i32.const 4)))
    (table.set $ring (i32.const 4) (task.new $t $link (i32.const 0)))
    (task.resume $t (table.get $ring (i32.const 0)) (local.get 0)))

  ;; A resumes C, which switches A to B. C stays below A, and continues when A is resumed.
  (func $runs-c (param $me (ref null $t)) (param $n i32) (result i32)
    (global.set $c (task.new $t $c))
    (i32.add (i32.const 1000) (task.resume $t (global.get $c) (local.get $n))))
  (func $c (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 100)
      (task.switchto $t $u (global.get $a) (global.get $b)
        (i64.extend_i32_s (local.get $n)) (i64.const 7))))
  (func (export "new with c")
    (global.set $a (task.new $t $runs-c))
    (global.set $b (task.new $u $b)))
  (func (export "resume c") (result i32) (task.resume $t (global.get $c) (i32.const 0)))

  ;; A task whose ancestor was switched away continues when another task switches to that ancestor.
  (func $to-a (param $me (ref null $t)) (param $n i32) (result i32)
    (task.switchto $t $t (local.get $me) (global.get $a) (local.get $n)))
  (func (export "switch to a") (param i32) (result i32)
    (task.resume $t (task.new $t $to-a) (local.get 0)))

  ;; The parent stays the same, however often its tasks switch.
  (func $parent (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.mul (i32.const 2) (task.resume $t (global.get $a) (local.get $n))))
  (func (export "resume a from a task") (param i32) (result i32)
    (task.resume $t (task.new $t $parent) (local.get 0)))

  ;; B's results may be subtypes of A's.
  (type $gives-any (task (result anyref)))
  (type $gives-i31 (task (result (ref i31))))
  (func $any (param $me (ref null $gives-any)) (result anyref)
    (task.switchto $gives-any $gives-i31 (local.get $me) (task.new $gives-i31 $i31))
    (unreachable))
  (func $i31 (param (ref null $gives-i31)) (result (ref i31)) (ref.i31 (i32.const 12)))
  (func (export "subtype") (result i32)
    (i31.get_u (ref.cast i31ref
      (task.resume $gives-any (task.new $gives-any $any))))))

(assert_return (invoke "new" (i32.const 0)))
(assert_return (invoke "resume a" (i32.const 5)) (i32.const 25))
(assert_return (invoke "log") (i64.const 13))
(assert_trap (invoke "resume b") "task is moribund")
(assert_return (invoke "resume a" (i32.const 6)) (i32.const 7))
(assert_return (invoke "log") (i64.const 2))
(assert_trap (invoke "resume a" (i32.const 6)) "task is moribund")

(assert_return (invoke "new" (i32.const 1)))
(assert_return (invoke "resume a" (i32.const 5)) (i32.const 101))
(assert_return (invoke "log") (i64.const 142))
(assert_trap (invoke "resume a" (i32.const 6)) "task is moribund")
(assert_return (invoke "resume b") (i32.const -1))
(assert_return (invoke "log") (i64.const 5))
(assert_trap (invoke "resume b") "task is moribund")

(assert_return (invoke "new" (i32.const 2)))
(assert_return (invoke "resume a" (i32.const 5)) (i32.const 42))
(assert_return (invoke "resume b") (i32.const -2))

(assert_return (invoke "ring" (i32.const 1000000)) (i32.const 1))
(assert_return (invoke "ring" (i32.const 1000003)) (i32.const 4))

(assert_return (invoke "new with c"))
(assert_return (invoke "resume a" (i32.const 3)) (i32.const 10))
(assert_trap (invoke "resume c") "task is not suspended")
(assert_trap (invoke "resume b") "task is moribund")
(assert_return (invoke "resume a" (i32.const 4)) (i32.const 1104))

(assert_return (invoke "new with c"))
(assert_return (invoke "resume a" (i32.const 3)) (i32.const 10))
(assert_return (invoke "switch to a" (i32.const 5)) (i32.const 1105))

(assert_return (invoke "new" (i32.const 0)))
(assert_return (invoke "resume a from a task" (i32.const 5)) (i32.const 50))
(assert_return (invoke "resume a from a task" (i32.const 6)) (i32.const 14))
(assert_return (invoke "subtype") (i32.const 12))
