;; The parent of a task is the one that resumed it last, and receives its values.

(module
  (type $t (task (param i32) (result i32)))
  (global $a (mut (ref null $t)) (ref.null $t))
  (global $b (mut (ref null $t)) (ref.null $t))
  (global $c (mut (ref null $t)) (ref.null $t))
  (global $log (mut i64) (i64.const 0))
  (func $log (param i32)
    (global.set $log
      (i64.add (i64.mul (global.get $log) (i64.const 10)) (i64.extend_i32_u (local.get 0)))))
  (func (export "log") (result i64) (global.get $log) (global.set $log (i64.const 0)))

  ;; Counts upwards from the value that it receives.
  (func $counts (param $me (ref null $t)) (param $n i32) (result i32)
    (loop $next
      (call $log (local.get $n))
      (local.set $n
        (task.suspend $t (local.get $me) (i32.add (local.get $n) (i32.const 1))))
      (br $next))
    (unreachable))
  ;; Resumes C with its value, and suspends with ten times C's result.
  (func $through (param $me (ref null $t)) (param $n i32) (result i32)
    (loop $next
      (local.set $n
        (task.suspend $t (local.get $me)
          (i32.mul (i32.const 10)
            (task.resume $t (global.get $c) (local.get $n)))))
      (br $next))
    (unreachable))
  (func (export "new")
    (global.set $a (task.new $t $through))
    (global.set $b (task.new $t $through))
    (global.set $c (task.new $t $counts)))
  ;; A, B, the root and A again resume C.
  (func (export "one after another") (result i32 i32 i32 i32)
    (task.resume $t (global.get $a) (i32.const 1))
    (task.resume $t (global.get $b) (i32.const 2))
    (task.resume $t (global.get $c) (i32.const 3))
    (task.resume $t (global.get $a) (i32.const 4)))

  ;; Each task of a line resumes the next.
  (func $nested (param $me (ref null $t)) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (i32.add (i32.const 1)
      (task.resume $t (task.new $t $nested) (i32.sub (local.get $n) (i32.const 1)))))
  (func (export "nested") (param i32) (result i32)
    (task.resume $t (task.new $t $nested) (local.get 0)))

  ;; One task creates another and passes it through a global. The root resumes it.
  (func $makes (param $me (ref null $t)) (param $n i32) (result i32)
    (global.set $c (task.new $t $counts))
    (local.get $n))
  (func (export "made by another") (result i32 i32)
    (task.resume $t (task.new $t $makes) (i32.const 5))
    (task.resume $t (global.get $c) (i32.const 6))))

(assert_return (invoke "new"))
(assert_return (invoke "one after another")
  (i32.const 20) (i32.const 30) (i32.const 4) (i32.const 50))
(assert_return (invoke "log") (i64.const 1234))
(assert_return (invoke "nested" (i32.const 1000)) (i32.const 1000))
(assert_return (invoke "made by another") (i32.const 5) (i32.const 7))
