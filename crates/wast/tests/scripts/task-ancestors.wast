;; A task can suspend an ancestor, which stays together with its descendants.
;; When the ancestor is resumed, the innermost task continues.

(module
  (type $t (task (param i32) (result i32)))
  (type $u (task (param i64) (result i64)))
  (global $outer (mut (ref null $t)) (ref.null $t))
  (global $middle (mut (ref null $u)) (ref.null $u))
  (global $inner (mut (ref null $t)) (ref.null $t))
  (global $log (mut i64) (i64.const 0))
  (func $log (param i32)
    (global.set $log
      (i64.add (i64.mul (global.get $log) (i64.const 10)) (i64.extend_i32_u (local.get 0)))))
  (func (export "log") (result i64) (global.get $log) (global.set $log (i64.const 0)))

  ;; The outer task resumes the middle one, which resumes the inner one.
  (func $outer (param $me (ref null $t)) (param $n i32) (result i32)
    (call $log (i32.const 1))
    (global.set $middle (task.new $u $middle))
    (i32.wrap_i64
      (task.resume $u (global.get $middle) (i64.extend_i32_s (local.get $n))))
    (call $log (i32.const 8)))
  (func $middle (param $me (ref null $u)) (param $n i64) (result i64)
    (call $log (i32.const 2))
    (global.set $inner (task.new $t $inner))
    (i64.extend_i32_s
      (task.resume $t (global.get $inner) (i32.wrap_i64 (local.get $n))))
    (call $log (i32.const 7)))
  ;; Suspends the outer task, then the middle one, then itself.
  (func $inner (param $me (ref null $t)) (param $n i32) (result i32)
    (call $log (i32.const 3))
    (local.set $n
      (task.suspend $t (global.get $outer) (i32.add (local.get $n) (i32.const 10))))
    (call $log (i32.const 4))
    (local.set $n
      (i32.wrap_i64
        (task.suspend $u (global.get $middle)
          (i64.add (i64.extend_i32_s (local.get $n)) (i64.const 100)))))
    (call $log (i32.const 5))
    (local.set $n
      (task.suspend $t (local.get $me) (i32.add (local.get $n) (i32.const 1000))))
    (call $log (i32.const 6))
    (i32.add (local.get $n) (i32.const 1)))

  (func (export "new") (global.set $outer (task.new $t $outer)))
  (func (export "resume the outer") (param i32) (result i32)
    (task.resume $t (global.get $outer) (local.get 0)))
  (func (export "resume the middle") (param i64) (result i64)
    (task.resume $u (global.get $middle) (local.get 0)))
  (func (export "resume the inner") (param i32) (result i32)
    (task.resume $t (global.get $inner) (local.get 0)))
  (func (export "suspend the middle") (result i64)
    (task.suspend $u (global.get $middle) (i64.const 0)))
  (func (export "suspend the inner") (result i32)
    (task.suspend $t (global.get $inner) (i32.const 0)))
  (func (export "retire the inner") (task.retire $t (global.get $inner) (i32.const 0)))
  (func (export "release the middle") (task.release $u (global.get $middle)))
  (func (export "release the inner") (task.release $t (global.get $inner)))

  ;; Another task resumes the chain, which then runs below that task.
  (func $resumes (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 5) (task.resume $t (global.get $outer) (local.get $n))))
  (func (export "resume the outer from another task") (param i32) (result i32)
    (task.resume $t (task.new $t $resumes) (local.get 0)))
  ;; Locals of all tasks of the chain are kept.
  (func $keeps (param $me (ref null $t)) (param $n i32) (param $depth i32) (result i32)
    (local $kept i32)
    (local.set $kept (i32.mul (local.get $n) (i32.const 3)))
    (if (local.get $depth)
      (then
        (return
          (i32.add (local.get $kept)
            (task.resume $t
              (task.new $t $keeps (i32.sub (local.get $depth) (i32.const 1)))
              (local.get $n))))))
    (i32.add (local.get $kept) (task.suspend $t (global.get $outer) (local.get $kept))))
  (func (export "new at depth") (param i32)
    (global.set $outer (task.new $t $keeps (local.get 0)))))

(assert_return (invoke "new"))
;; The outer task receives 1. The inner one suspends it with 11.
(assert_return (invoke "resume the outer" (i32.const 1)) (i32.const 11))
(assert_return (invoke "log") (i64.const 123))
;; Descendants of a suspended task are in use.
(assert_trap (invoke "resume the middle" (i64.const 0)) "task is not suspended")
(assert_trap (invoke "resume the inner" (i32.const 0)) "task is not suspended")
(assert_trap (invoke "suspend the middle") "task is not running")
(assert_trap (invoke "suspend the inner") "task is not running")
(assert_trap (invoke "retire the inner") "task is not running")
(assert_trap (invoke "release the middle") "task is not suspended")
(assert_trap (invoke "release the inner") "task is not suspended")
;; The inner task continues with 2 and suspends the middle one with 102, with which the outer one
;; returns.
(assert_return (invoke "resume the outer" (i32.const 2)) (i32.const 102))
(assert_return (invoke "log") (i64.const 48))
(assert_trap (invoke "resume the outer" (i32.const 0)) "task is moribund")
;; The middle task is no longer below the outer one. The inner task is still below the middle one.
(assert_trap (invoke "resume the inner" (i32.const 0)) "task is not suspended")
(assert_return (invoke "resume the middle" (i64.const 3)) (i64.const 1003))
(assert_return (invoke "log") (i64.const 57))
(assert_trap (invoke "resume the middle" (i64.const 0)) "task is moribund")
(assert_return (invoke "resume the inner" (i32.const 4)) (i32.const 5))
(assert_return (invoke "log") (i64.const 6))
(assert_trap (invoke "resume the inner" (i32.const 0)) "task is moribund")

(assert_return (invoke "new"))
(assert_return (invoke "resume the outer from another task" (i32.const 1)) (i32.const 16))
(assert_return (invoke "resume the outer from another task" (i32.const 2)) (i32.const 107))
(assert_return (invoke "log") (i64.const 12348))

(assert_return (invoke "new at depth" (i32.const 100)))
(assert_return (invoke "resume the outer" (i32.const 2)) (i32.const 6))
(assert_return (invoke "resume the outer" (i32.const 1)) (i32.const 607))
(assert_trap (invoke "resume the outer" (i32.const 0)) "task is moribund")
