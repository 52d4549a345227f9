;; Symmetric coroutines with typed continuations: `switch` names the target, and a clause of the
;; `resume` outside allows it. The reference to the previous coroutine comes with each message.
(module
  (rec
    (type $body (func (param i64 i64 (ref null $coroutine)) (result i64)))
    (type $coroutine (cont $body)))
  (type $stepping (func (param i64 i64 i64 (ref null $coroutine)) (result i64)))
  (type $new (cont $stepping))
  (tag $pass (result i64))

  ;; Adds its step to the value and passes it on, until no passes are left.
  (func $coroutine
    (param $step i64) (param $value i64) (param $left i64)
    (param $other (ref null $coroutine)) (result i64)
    (loop $next
      (if (i64.eqz (local.get $left)) (then (return (local.get $value))))
      (switch $coroutine $pass
        (i64.add (local.get $value) (local.get $step))
        (i64.sub (local.get $left) (i64.const 1))
        (local.get $other))
      (local.set $other)
      (local.set $left)
      (local.set $value)
      (br $next))
    (unreachable))
  (elem declare func $coroutine)

  (func $new (param $step i64) (result (ref $coroutine))
    (cont.bind $new $coroutine (local.get $step) (cont.new $new (ref.func $coroutine))))

  (func (export "run") (param $n i64) (result i64)
    (resume $coroutine (on $pass switch)
      (i64.const 0) (local.get $n) (call $new (i64.const 2)) (call $new (i64.const 1)))))
