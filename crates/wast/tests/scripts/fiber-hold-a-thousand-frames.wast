;; A fiber's stack holds a thousand frames; exhausting it is a trap that leaves other fibers intact.

(module
  (tag $go)
  (tag $up (param i32))
  (tag $done (param i32))
  (func $deep (param $n i32) (param $self fiberref) (result i32)
    (if (i32.eqz (local.get $n))
      (then
        (block $go
          (fiber.dismount $up (on $go $go) (i32.const 1) (local.get $self))
          (unreachable))
        (return (i32.const 0))))
    (i32.add (i32.const 1)
      (call $deep (i32.sub (local.get $n) (i32.const 1)) (local.get $self))))
  (func $endless (param $self fiberref) (result i32)
    (i32.add (i32.const 1) (call $endless (local.get $self))))
  (func (export "deep") (param $n i32) (result i32)
    (local $f fiberref)
    (local.set $f (fiber.new $done (on $go $deep) (local.get $n)))
    (block $up (result i32)
      (fiber.mount $go (on $up $up) (local.get $f))
      (unreachable))
    (drop)
    (block $done (result i32)
      (fiber.mount $go (on $done $done) (local.get $f))
      (unreachable)))
  (func (export "endless")
    (fiber.mount $go (fiber.new $done (on $go $endless)))))

(assert_return (invoke "deep" (i32.const 1000)) (i32.const 1000))
(assert_exhaustion (invoke "endless") "call stack exhausted")
(assert_return (invoke "deep" (i32.const 1000)) (i32.const 1000))
