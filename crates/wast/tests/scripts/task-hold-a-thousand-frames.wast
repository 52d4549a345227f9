;; A task has room for a thousand small frames, and is suspended in the deepest; a
;; recursion without end exhausts its stack, and nothing else.

(module
  (type $t (task (param i32) (result i32)))
  (func $down (param $me (ref null $t)) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n))
      (then (return (task.suspend $t (local.get $me) (i32.const 0)))))
    (i32.add (i32.const 1)
      (call $down (local.get $me) (i32.sub (local.get $n) (i32.const 1)))))
  (global $deep (mut (ref null $t)) (ref.null $t))
  (func (export "start") (param i32) (result i32)
    (global.set $deep (task.new $t $down))
    (task.resume $t (global.get $deep) (local.get 0)))
  (func (export "go on") (result i32) (task.resume $t (global.get $deep) (i32.const 5)))

  (func $forever (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 1) (call $forever (local.get $me) (local.get $n))))
  (global $endless (mut (ref null $t)) (ref.null $t))
  (func (export "forever") (result i32)
    (global.set $endless (task.new $t $forever))
    (task.resume $t (global.get $endless) (i32.const 0)))
  (func (export "resume what was exhausted") (result i32)
    (task.resume $t (global.get $endless) (i32.const 0)))
  ;; It is a trap, not an exception; so many tasks deep.
  (func $catches (param $me (ref null $t)) (param $n i32) (result i32)
    (block $h
      (try_table (catch_all $h)
        (if (i32.eqz (local.get $n))
          (then (return (call $forever (local.get $me) (i32.const 0)))))
        (return
          (task.resume $t (task.new $t $catches) (i32.sub (local.get $n) (i32.const 1))))))
    (i32.const 1))
  (func (export "caught") (param i32) (result i32)
    (task.resume $t (task.new $t $catches) (local.get 0)))
  ;; A chain of ten thousand tasks is no deep recursion. The innermost suspends
  ;; the outermost, and goes on.
  (global $outermost (mut (ref null $t)) (ref.null $t))
  (func $nested (param $me (ref null $t)) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n))
      (then (return (task.suspend $t (global.get $outermost) (i32.const 1)))))
    (i32.add (i32.const 1)
      (task.resume $t (task.new $t $nested) (i32.sub (local.get $n) (i32.const 1)))))
  (func (export "nested") (param i32) (result i32 i32)
    (global.set $outermost (task.new $t $nested))
    (task.resume $t (global.get $outermost) (local.get 0))
    (task.resume $t (global.get $outermost) (i32.const 2))))

(assert_return (invoke "start" (i32.const 1000)) (i32.const 0))
(assert_exhaustion (invoke "forever") "call stack exhausted")
(assert_trap (invoke "resume what was exhausted") "task is moribund")
(assert_exhaustion (invoke "caught" (i32.const 0)) "call stack exhausted")
(assert_exhaustion (invoke "caught" (i32.const 3)) "call stack exhausted")
(assert_return (invoke "go on") (i32.const 1005))
(assert_trap (invoke "go on") "task is moribund")
(assert_return (invoke "nested" (i32.const 10000)) (i32.const 1) (i32.const 10002))
(assert_return (invoke "start" (i32.const 1000)) (i32.const 0))
(assert_trap (invoke "forever") "call stack exhausted")
(assert_return (invoke "go on") (i32.const 1005))
