;; Coroutines and tasks nest: a switch in a task suspends the chain up to the base.
;; The task stays in use until control is back.

(module
  (type $c (stack (param i32) (ref null $c)))
  (type $t (task (param i32) (result i32)))
  (tag $x (param i32))
  (tag $e (param i32) (param (ref null $c)))
  (global $s (mut (ref null $c)) (ref.null $c))
  (global $t (mut (ref null $t)) (ref.null $t))
  (global $u (mut (ref null $t)) (ref.null $t))
  (global $which (mut i32) (i32.const 0))

  (func $doubles (param $n i32) (param $from (ref null $c))
    (loop $next
      (switch $c (i32.mul (local.get $n) (i32.const 2)) (local.get $from))
      (local.set $from)
      (local.set $n)
      (br $next)))
  (func $ask (param i32) (result i32)
    (switch $c (local.get 0) (global.get $s))
    (global.set $s))

  ;; ---- A task on the root switches away and back, then suspends itself.

  (func $switches (param $me (ref null $t)) (param $n i32) (result i32)
    (loop $next
      (local.set $n
        (task.suspend $t (local.get $me) (i32.add (i32.const 1) (call $ask (local.get $n)))))
      (br $next))
    (unreachable))
  (func (export "switch in a task") (result i32 i32)
    (global.set $s (stack.new $c $doubles))
    (global.set $t (task.new $t $switches))
    (task.resume $t (global.get $t) (i32.const 3))
    (task.resume $t (global.get $t) (i32.const 4)))

  ;; ---- Operations of a coroutine on a task of the suspended root.

  (func $meddles (param $n i32) (param $from (ref null $c))
    (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 (global.get $which)))
      (drop (task.resume $t (global.get $t) (i32.const 0))) (unreachable))
      (drop (task.suspend $t (global.get $t) (i32.const 0))) (unreachable))
      (task.retire $t (global.get $t) (i32.const 0)))
      (task.release $t (global.get $t)))
    (switch_retire $c (i32.const 50) (local.get $from)))
  (func $lets-meddle (param $me (ref null $t)) (param $n i32) (result i32)
    (switch $c (local.get $n) (stack.new $c $meddles))
    (drop))
  (func (export "meddle") (param $which i32) (result i32)
    (global.set $which (local.get $which))
    (global.set $t (task.new $t $lets-meddle))
    (task.resume $t (global.get $t) (i32.const 0)))

  ;; ---- A coroutine runs a task, which switches to the root.

  (func $runs (param $n i32) (param $from (ref null $c))
    (global.set $s (local.get $from))
    (global.set $t (task.new $t $switches))
    (loop $next
      (local.set $n (i32.add (i32.const 100) (task.resume $t (global.get $t) (local.get $n))))
      (switch $c (local.get $n) (global.get $s))
      (global.set $s)
      (local.set $n)
      (br $next)))
  (func (export "task in a coroutine") (result i32 i32 i32 i32)
    (local $c (ref null $c))
    ;; The task sends 1 to the root and receives 10. Its coroutine sends 111.
    (switch $c (i32.const 1) (stack.new $c $runs))
    (local.set $c)
    (switch $c (i32.const 10) (local.get $c))
    (local.set $c)
    ;; The task receives 2, sends 2 and receives 20.
    (switch $c (i32.const 2) (local.get $c))
    (local.set $c)
    (switch $c (i32.const 20) (local.get $c))
    (drop))
  ;; While the coroutine is suspended, its task stays in use or suspended.
  (func (export "task in a waiting coroutine") (result i32)
    (switch $c (i32.const 1) (stack.new $c $runs))
    (drop)
    (drop)
    (task.resume $t (global.get $t) (i32.const 0)))
  (func (export "suspended task of a waiting coroutine") (result i32)
    (local $c (ref null $c))
    (switch $c (i32.const 1) (stack.new $c $runs))
    (local.set $c)
    (drop)
    (switch $c (i32.const 10) (local.get $c))
    (drop)
    (drop)
    ;; The root resumes the task, which switches to the reference in `$s`. That reference is already
    ;; used.
    (task.resume $t (global.get $t) (i32.const 0)))

  ;; ---- A suspended task is resumed on another stack.

  (func $adds (param $me (ref null $t)) (param $n i32) (result i32)
    (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (local.get $n)))
      (local.set $n (task.suspend $t (local.get $me) (local.get $sum)))
      (br $next))
    (unreachable))
  (func $resumes (param $n i32) (param $from (ref null $c))
    (loop $next
      (switch $c (task.resume $t (global.get $t) (local.get $n)) (local.get $from))
      (local.set $from)
      (local.set $n)
      (br $next)))
  (func (export "one task, many stacks") (result i32 i32 i32 i32)
    (global.set $t (task.new $t $adds))
    (task.resume $t (global.get $t) (i32.const 1))
    (switch $c (i32.const 2) (stack.new $c $resumes))
    (drop)
    (switch $c (i32.const 3) (stack.new $c $resumes))
    (drop)
    (task.resume $t (global.get $t) (i32.const 4)))

  ;; ---- A chain of tasks is suspended with its coroutine.

  (func $outer (param $me (ref null $t)) (param $n i32) (result i32)
    (global.set $u (task.new $t $inner))
    (i32.add (i32.const 1) (task.resume $t (global.get $u) (local.get $n))))
  (func $inner (param $me (ref null $t)) (param $n i32) (result i32)
    ;; After a switch away and back, suspend the outer task.
    (local.set $n (call $ask (local.get $n)))
    (local.set $n (task.suspend $t (global.get $t) (local.get $n)))
    (call $ask (local.get $n)))
  (func (export "chain") (result i32 i32)
    (global.set $s (stack.new $c $doubles))
    (global.set $t (task.new $t $outer))
    (task.resume $t (global.get $t) (i32.const 6))
    (task.resume $t (global.get $t) (i32.const 7)))

  ;; ---- Exceptions.

  ;; A coroutine can catch an exception that leaves a task.
  (func $throws (param $me (ref null $t)) (param $n i32) (result i32) (throw $x (local.get $n)))
  (func $catches (param $n i32) (param $from (ref null $c))
    (block $h (result i32)
      (try_table (catch $x $h)
        (drop (task.resume $t (task.new $t $throws) (local.get $n))))
      (unreachable))
    (local.set $n)
    (switch_retire $c (i32.add (local.get $n) (i32.const 1)) (local.get $from)))
  (func (export "caught on the coroutine") (result i32)
    (switch $c (i32.const 8) (stack.new $c $catches))
    (drop))
  (func $does-not-catch (param $n i32) (param $from (ref null $c))
    (global.set $t (task.new $t $throws))
    (drop (task.resume $t (global.get $t) (local.get $n)))
    (unreachable))
  (func (export "escapes the coroutine") (result i32)
    (block $h
      (try_table (catch_all $h)
        (switch $c (i32.const 8) (stack.new $c $does-not-catch))
        (drop)
        (return)))
    (i32.const -1))
  (func (export "resume") (result i32) (task.resume $t (global.get $t) (i32.const 0)))
  ;; An exception thrown into a stack that is suspended in a task ends the task.
  (func $waits (param $me (ref null $t)) (param $n i32) (result i32) (call $ask (local.get $n)))
  (func $runs-waiter (param $n i32) (param $from (ref null $c))
    (global.set $s (local.get $from))
    (global.set $t (task.new $t $waits))
    (block $h (result i32 (ref null $c))
      (try_table (catch $e $h)
        (drop (task.resume $t (global.get $t) (local.get $n))))
      (unreachable))
    (local.set $from)
    (local.set $n)
    (switch_retire $c (i32.add (local.get $n) (i32.const 1)) (local.get $from)))
  (func (export "throw into a task in a coroutine") (result i32)
    (local $c (ref null $c))
    (switch $c (i32.const 0) (stack.new $c $runs-waiter))
    (local.set $c)
    (drop)
    (switch_throw $c $e (i32.const 40) (local.get $c))
    (drop))

  ;; ---- return_switch in a task replaces its function.

  (func $leaves (param $me (ref null $t)) (param $n i32) (result i32)
    (return_switch $c $then (local.get $n) (global.get $s)))
  (func $then (param $n i32) (param $from (ref null $c)) (result i32)
    (global.set $s (local.get $from))
    (i32.add (i32.const 1)
      (task.suspend $t (global.get $t) (local.get $n))))
  (func (export "return_switch in a task") (result i32 i32)
    (global.set $s (stack.new $c $doubles))
    (global.set $t (task.new $t $leaves))
    (task.resume $t (global.get $t) (i32.const 9))
    (task.resume $t (global.get $t) (i32.const 10)))

  ;; ---- Retiring a stack ends its tasks.

  (func $retires (param $me (ref null $t)) (param $n i32) (result i32)
    (switch_retire $c (local.get $n) (global.get $s)))
  (func $runs-retirer (param $n i32) (param $from (ref null $c))
    (global.set $s (local.get $from))
    (global.set $t (task.new $t $retires))
    (drop (task.resume $t (global.get $t) (local.get $n)))
    (unreachable))
  (func (export "retire in a task") (result i32 i32)
    (switch $c (i32.const 11) (stack.new $c $runs-retirer))
    (ref.is_null)))

(assert_return (invoke "switch in a task") (i32.const 7) (i32.const 9))
(assert_trap (invoke "meddle" (i32.const 0)) "task is not suspended")
(assert_trap (invoke "meddle" (i32.const 1)) "task is not running")
(assert_trap (invoke "meddle" (i32.const 2)) "task is not running")
(assert_trap (invoke "meddle" (i32.const 3)) "task is not suspended")
(assert_return (invoke "meddle" (i32.const 4)) (i32.const 50))
(assert_return (invoke "task in a coroutine")
  (i32.const 1) (i32.const 111) (i32.const 2) (i32.const 121))
(assert_trap (invoke "task in a waiting coroutine") "task is not suspended")
(assert_trap (invoke "suspended task of a waiting coroutine") "stack reference already used")
(assert_return (invoke "one task, many stacks")
  (i32.const 1) (i32.const 3) (i32.const 6) (i32.const 10))
(assert_return (invoke "chain") (i32.const 12) (i32.const 15))
(assert_return (invoke "caught on the coroutine") (i32.const 9))
(assert_trap (invoke "escapes the coroutine") "exception escaped a coroutine")
(assert_trap (invoke "resume") "task is moribund")
(assert_return (invoke "throw into a task in a coroutine") (i32.const 41))
(assert_trap (invoke "resume") "task is moribund")
(assert_return (invoke "return_switch in a task") (i32.const 18) (i32.const 11))
(assert_return (invoke "retire in a task") (i32.const 11) (i32.const 1))
(assert_trap (invoke "resume") "task is moribund")
