;; Symmetric coroutines in the bag of stacks. They do not know who has started them, so the stack
;; of `run` is in a global.
(module
  (type $coroutine (stack (param i64 i64) (ref null $coroutine)))
  (type $new (stack (param i64 i64 i64) (ref null $coroutine)))
  (type $done (stack (param i64) (ref null $coroutine)))
  (type $start (stack (param i64) (ref null $done)))
  (global $main (mut (ref null $done)) (ref.null $done))

  ;; Adds its step to the value and passes it on, until no passes are left.
  (func $coroutine
    (param $step i64) (param $value i64) (param $left i64) (param $other (ref null $coroutine))
    (loop $next
      (if (i64.eqz (local.get $left))
        (then (switch_retire $done (local.get $value) (global.get $main))))
      (switch $coroutine
        (i64.add (local.get $value) (local.get $step))
        (i64.sub (local.get $left) (i64.const 1))
        (local.get $other))
      (local.set $other)
      (local.set $left)
      (local.set $value)
      (br $next)))

  (func $first (param $n i64) (param $main (ref null $done))
    (global.set $main (local.get $main))
    (call $coroutine (i64.const 1) (i64.const 0) (local.get $n)
      (stack.bind $new $coroutine (i64.const 2) (stack.new $new $coroutine))))

  (func (export "run") (param $n i64) (result i64)
    (switch $start (local.get $n) (stack.new $start $first))
    (drop)))
