;; Each of the nine fiber instructions works in folded and plain form.

(module
  (tag $go)
  (tag $give (param i32))
  (tag $done (param i32))
  (tag $stop)

  ;; ---- Folded.

  (func $one-two (param $self fiberref) (result i32)
    (block $again
      (fiber.dismount $give (on $go $again) (i32.const 1) (local.get $self))
      (unreachable))
    (i32.const 2))
  (func (export "mount and dismount") (result i32 i32)
    (local $f fiberref) (local $first i32)
    (local.set $f (fiber.new $done (on $go $one-two)))
    (block $given (result i32)
      (fiber.mount $go (on $give $given) (local.get $f))
      (unreachable))
    (local.set $first)
    (block $finished (result i32)
      (fiber.mount $go (on $give $finished) (on $done $finished) (local.get $f))
      (unreachable))
    (local.set 0 (ref.null fiber))
    (call $swap (local.get $first)))
  (func $swap (param i32 i32) (result i32 i32) (local.get 1) (local.get 0))

  ;; $first passes a value to this fiber, which adds one and dismounts.
  (func $second (param $self (ref fiber)) (param $n i32)
    (fiber.dismount $give (i32.add (local.get $n) (i32.const 1)) (local.get $self)))
  (func $first (param $other fiberref) (param $self fiberref) (result i32)
    (fiber.switch $give (i32.const 5) (local.get $self) (local.get $other))
    (unreachable))
  (func (export "switch") (result i32)
    (block $given (result i32)
      (fiber.mount $go (on $give $given)
        (fiber.new $done (on $go $first) (fiber.new (on $give $second))))
      (unreachable)))

  (func (export "release") (result i32)
    (local $f fiberref)
    (local.set $f (fiber.new $done (on $go $one-two)))
    (fiber.release (local.get $f))
    (i32.const 6))
  (func (export "use after release")
    (local $f fiberref)
    (local.set $f (fiber.new $done (on $go $one-two)))
    (fiber.release (local.get $f))
    (fiber.mount $go (local.get $f)))

  (func $sum (param i32 i32) (param $self fiberref) (result i32)
    (i32.add (local.get 0) (local.get 1)))
  (func (export "mount_new") (result i32)
    (local $sum i32)
    (fiber.mount_new $done $sum (i32.const 3) (i32.const 4))
    (local.set $sum)
    (drop)
    (local.get $sum))

  (func $begins (param $self fiberref) (result i32)
    (fiber.switch_new $done $sum (i32.const 30) (i32.const 40) (local.get $self))
    (unreachable))
  (func (export "switch_new") (result i32)
    (block $finished (result i32)
      (fiber.mount $go (on $done $finished) (fiber.new $done (on $go $begins)))
      (unreachable)))

  (func $leaves (param $self fiberref) (result i32)
    (fiber.dismount_release $give (i32.const 8) (local.get $self))
    (unreachable))
  (func (export "dismount_release") (result i32)
    (block $given (result i32)
      (fiber.mount $go (on $give $given) (fiber.new $done (on $go $leaves)))
      (unreachable)))

  (func $passes-on (param $other fiberref) (param $self fiberref)
    (fiber.switch_release $give (i32.const 9) (local.get $self) (local.get $other))
    (unreachable))
  (func (export "switch_release") (result i32)
    (block $given (result i32)
      (fiber.mount $go (on $give $given)
        (fiber.new (on $go $passes-on) (fiber.new (on $give $second))))
      (unreachable)))

  ;; ---- Plain.

  (func $one-two-plain (param $self fiberref) (result i32)
    block $again
      i32.const 1
      local.get $self
      fiber.dismount $give (on $go $again)
      unreachable
    end
    i32.const 2)
  (func (export "mount and dismount, plain") (result i32 i32)
    (local $f fiberref)
    fiber.new $done (on $go $one-two-plain)
    local.set $f
    block $given (result i32)
      local.get $f
      fiber.mount $go (on $give $given)
      unreachable
    end
    block $finished (result i32)
      local.get $f
      fiber.mount $go (on $give $finished) (on $done $finished)
      unreachable
    end)

  (func $second-plain (param $self (ref fiber)) (param $n i32)
    local.get $n
    i32.const 1
    i32.add
    local.get $self
    fiber.dismount $give)
  (func $first-plain (param $other fiberref) (param $self fiberref) (result i32)
    i32.const 5
    local.get $self
    local.get $other
    fiber.switch $give
    unreachable)
  (func (export "switch, plain") (result i32)
    block $given (result i32)
      fiber.new (on $give $second-plain)
      fiber.new $done (on $go $first-plain)
      fiber.mount $go (on $give $given)
      unreachable
    end)

  (func (export "release, plain") (result i32)
    fiber.new
    fiber.release
    ref.null fiber
    ref.is_null)

  (func (export "mount_new, plain") (result i32)
    (local $sum i32)
    i32.const 3
    i32.const 4
    fiber.mount_new $done $sum
    local.set $sum
    drop
    local.get $sum)

  (func $begins-plain (param $self fiberref) (result i32)
    i32.const 30
    i32.const 40
    local.get $self
    fiber.switch_new $done $sum
    unreachable)
  (func (export "switch_new, plain") (result i32)
    block $finished (result i32)
      fiber.new $done (on $go $begins-plain)
      fiber.mount $go (on $done $finished)
      unreachable
    end)

  (func $leaves-plain (param $self fiberref)
    i32.const 8
    local.get $self
    fiber.dismount_release $give
    unreachable)
  (func (export "dismount_release, plain") (result i32)
    block $given (result i32)
      fiber.new (on $go $leaves-plain)
      fiber.mount $go (on $give $given)
      unreachable
    end)

  (func $passes-on-plain (param $other fiberref) (param $self fiberref)
    i32.const 9
    local.get $self
    local.get $other
    fiber.switch_release $give
    unreachable)
  (func (export "switch_release, plain") (result i32)
    block $given (result i32)
      fiber.new (on $give $second-plain)
      fiber.new (on $go $passes-on-plain)
      fiber.mount $go (on $give $given)
      unreachable
    end))

(assert_return (invoke "mount and dismount") (i32.const 1) (i32.const 2))
(assert_return (invoke "switch") (i32.const 6))
(assert_return (invoke "release") (i32.const 6))
(assert_trap (invoke "use after release") "fiber is moribund")
(assert_return (invoke "mount_new") (i32.const 7))
(assert_return (invoke "switch_new") (i32.const 70))
(assert_return (invoke "dismount_release") (i32.const 8))
(assert_return (invoke "switch_release") (i32.const 10))
(assert_return (invoke "mount and dismount, plain") (i32.const 1) (i32.const 2))
(assert_return (invoke "switch, plain") (i32.const 6))
(assert_return (invoke "release, plain") (i32.const 1))
(assert_return (invoke "mount_new, plain") (i32.const 7))
(assert_return (invoke "switch_new, plain") (i32.const 70))
(assert_return (invoke "dismount_release, plain") (i32.const 8))
(assert_return (invoke "switch_release, plain") (i32.const 10))
