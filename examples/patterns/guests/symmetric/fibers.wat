;; Symmetric coroutines as fibers: `fiber.switch` suspends one and resumes the other, which gets its
;; control parent.
(module
  (tag $pass (param i64 i64 fiberref))
  (tag $done (param i64))

  ;; Adds its step to the value and passes it on, until no passes are left.
  (func $coroutine
    (param $step i64) (param $me fiberref)
    (param $value i64) (param $left i64) (param $other fiberref) (result i64)
    (loop $next
      (if (i64.eqz (local.get $left)) (then (return (local.get $value))))
      (block $passed (result i64 i64 fiberref)
        (fiber.switch $pass (on $pass $passed)
          (i64.add (local.get $value) (local.get $step))
          (i64.sub (local.get $left) (i64.const 1))
          (local.get $me)
          (local.get $me) (local.get $other))
        (unreachable))
      (local.set $other)
      (local.set $left)
      (local.set $value)
      (br $next))
    (unreachable))

  (func $new (param $step i64) (result fiberref)
    (fiber.new $done (on $pass $coroutine) (local.get $step)))

  (func (export "run") (param $n i64) (result i64)
    (block $done (result i64)
      (fiber.mount $pass (on $done $done)
        (i64.const 0) (local.get $n) (call $new (i64.const 2)) (call $new (i64.const 1)))
      (unreachable))))
