;; Symmetric coroutines as tasks: `task.switchto` suspends one and resumes the other, which gets
;; its parent.
(module
  (type $coroutine (task (param i64 i64 (ref null $coroutine)) (result i64)))

  ;; Adds its step to the value and passes it on, until no passes are left.
  (func $coroutine
    (param $me (ref null $coroutine))
    (param $value i64) (param $left i64) (param $other (ref null $coroutine))
    (param $step i64) (result i64)
    (loop $next
      (if (i64.eqz (local.get $left)) (then (return (local.get $value))))
      (task.switchto $coroutine $coroutine (local.get $me) (local.get $other)
        (i64.add (local.get $value) (local.get $step))
        (i64.sub (local.get $left) (i64.const 1))
        (local.get $me))
      (local.set $other)
      (local.set $left)
      (local.set $value)
      (br $next))
    (unreachable))

  (func (export "run") (param $n i64) (result i64)
    (task.resume $coroutine
      (task.new $coroutine $coroutine (i64.const 1))
      (i64.const 0) (local.get $n)
      (task.new $coroutine $coroutine (i64.const 2)))))
