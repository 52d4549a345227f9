;; A task is created suspended, and `task.resume` runs it until it suspends or returns.
;; The resuming code receives the values.

(module
  (type $t (task (param i32) (result i32 i32)))
  (type $quiet (task))

  ;; Adds up the values that it receives, and suspends with the sum and the number of resumes.
  ;; Returns when it receives zero.
  (func $adds (param $me (ref null $t)) (param $n i32) (result i32 i32)
    (local $sum i32) (local $times i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (local.get $n)))
      (local.set $times (i32.add (local.get $times) (i32.const 1)))
      (if (local.get $n)
        (then
          (local.set $n
            (task.suspend $t (local.get $me) (local.get $sum) (local.get $times)))
          (br $next))))
    (local.get $sum)
    (i32.const -1))
  (global $t (mut (ref null $t)) (ref.null $t))
  (func (export "new") (global.set $t (task.new $t $adds)))
  (func (export "add") (param i32) (result i32 i32)
    (task.resume $t (global.get $t) (local.get 0)))

  (func $plain (param (ref null $t) i32) (result i32 i32)
    local.get 0
    i32.const 10
    i32.const 20
    task.suspend $t
    i32.const 30)
  (func (export "plain") (param i32) (result i32 i32 i32 i32)
    (local $t (ref null $t))
    task.new $t $plain
    local.tee $t
    i32.const 0
    task.resume $t
    local.get $t
    local.get 0
    task.resume $t)
  ;; The operands may already be on the operand stack.
  (func (export "half folded") (result i32 i32)
    (task.new $t $adds)
    (task.resume $t (i32.const 7)))

  ;; The function is called at the first `task.resume`. It receives the task, the values of that
  ;; `task.resume`, and the arguments of `task.new`.
  (global $called (mut i32) (i32.const 0))
  (func $remembers (param $me (ref $t)) (param $first i32) (param $a i32) (param $b i64)
    (result i32 i32)
    (global.set $called (i32.const 1))
    (drop (task.suspend $t (local.get $me) (local.get $first) (local.get $a)))
    (local.get $a)
    (i32.wrap_i64 (local.get $b)))
  (func (export "called") (result i32) (global.get $called))
  (func (export "with arguments")
    (global.set $t (task.new $t $remembers (i32.const 5) (i64.const 6))))

  ;; Without parameters and results.
  (global $steps (mut i32) (i32.const 0))
  (global $quiet (mut (ref null $quiet)) (ref.null $quiet))
  (func $step (global.set $steps (i32.add (global.get $steps) (i32.const 1))))
  (func $quiet (param $me (ref null $quiet))
    (call $step)
    (task.suspend $quiet (local.get $me))
    (call $step)
    (task.suspend $quiet (local.get $me))
    (call $step))
  (func (export "quiet") (global.set $quiet (task.new $quiet $quiet)))
  (func (export "step") (result i32)
    (task.resume $quiet (global.get $quiet))
    (global.get $steps))

  ;; Suspends from deep recursion, in a function that receives the task as an argument.
  (func $down (param $me (ref null $t)) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n))
      (then (return (task.suspend $t (local.get $me) (i32.const 1) (i32.const 2)))))
    (i32.add (i32.const 1) (call $down (local.get $me) (i32.sub (local.get $n) (i32.const 1)))))
  (func $deep (param $me (ref null $t)) (param $n i32) (result i32 i32)
    (call $down (local.get $me) (local.get $n))
    (i32.const 0))
  (func (export "deep") (result i32)
    (local $t (ref null $t))
    (local.set $t (task.new $t $deep))
    (task.resume $t (local.get $t) (i32.const 100))
    (drop) (drop)
    (task.resume $t (local.get $t) (i32.const 11))
    (drop)))

(assert_return (invoke "new"))
(assert_return (invoke "add" (i32.const 5)) (i32.const 5) (i32.const 1))
(assert_return (invoke "add" (i32.const 6)) (i32.const 11) (i32.const 2))
(assert_return (invoke "add" (i32.const 7)) (i32.const 18) (i32.const 3))
(assert_return (invoke "add" (i32.const 0)) (i32.const 18) (i32.const -1))
(assert_trap (invoke "add" (i32.const 0)) "task is moribund")
(assert_return (invoke "plain" (i32.const 25))
  (i32.const 10) (i32.const 20) (i32.const 25) (i32.const 30))
(assert_return (invoke "half folded") (i32.const 7) (i32.const 1))
(assert_return (invoke "with arguments"))
(assert_return (invoke "called") (i32.const 0))
(assert_return (invoke "add" (i32.const 4)) (i32.const 4) (i32.const 5))
(assert_return (invoke "called") (i32.const 1))
(assert_return (invoke "add" (i32.const 9)) (i32.const 5) (i32.const 6))
(assert_trap (invoke "add" (i32.const 9)) "task is moribund")
(assert_return (invoke "quiet"))
(assert_return (invoke "step") (i32.const 1))
(assert_return (invoke "step") (i32.const 2))
(assert_return (invoke "step") (i32.const 3))
(assert_trap (invoke "step") "task is moribund")
(assert_return (invoke "deep") (i32.const 111))
