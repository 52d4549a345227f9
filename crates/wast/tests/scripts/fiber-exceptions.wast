;; An exception that leaves a fiber's function propagates from its control parent's instruction.
;; The fiber is then moribund.

(module
  (tag $go)
  (tag $up)
  (tag $done)
  (tag $x (param i32))
  (tag $y)
  (global $a (mut fiberref) (ref.null fiber))
  (global $b (mut fiberref) (ref.null fiber))
  (func (export "mount a") (fiber.mount $go (global.get $a)))
  (func (export "mount b") (fiber.mount $go (global.get $b)))

  (func $throws (param $self fiberref) (throw $x (i32.const 7)))
  (func $later (param $self fiberref)
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $self))
      (unreachable))
    (throw $x (i32.const 8)))
  (func $run (result i32)
    (block $x (result i32)
      (try_table (catch $x $x)
        (block $up
          (fiber.mount $go (on $up $up) (on $done $up) (global.get $a))
          (return (i32.const -1)))
        (return (i32.const 0)))
      (unreachable)))
  (func (export "at once") (result i32)
    (global.set $a (fiber.new $done (on $go $throws)))
    (call $run))
  (func (export "later") (result i32 i32)
    (global.set $a (fiber.new $done (on $go $later)))
    (call $run)
    (call $run))

  ;; After a switch, the exception goes to the inherited parent.
  (func $switches (param $self fiberref)
    (block $y
      (try_table (catch_all $y)
        (fiber.switch $go (local.get $self) (global.get $b)))
      (unreachable))
    (unreachable))
  (func (export "after a switch") (result i32)
    (global.set $a (fiber.new $done (on $go $switches)))
    (global.set $b (fiber.new $done (on $go $throws)))
    (call $run))

  ;; The exception passes several fibers. A fiber that catches it continues.
  (func $nest (param $n i32) (param $self fiberref)
    (if (i32.eqz (local.get $n)) (then (throw $x (i32.const 9))))
    (block $y
      (try_table (catch $y $y)
        (fiber.mount $go
          (fiber.new $done (on $go $nest) (i32.sub (local.get $n) (i32.const 1))))))
    (unreachable))
  (func (export "through") (param $n i32) (result i32)
    (global.set $a (fiber.new $done (on $go $nest) (local.get $n)))
    (call $run))
  (func (export "uncaught") (param $n i32)
    (fiber.mount $go (fiber.new $done (on $go $nest) (local.get $n))))

  (func $catches (param $self fiberref)
    (block $x (result i32)
      (try_table (catch $x $x) (fiber.mount $go (fiber.new $done (on $go $throws))))
      (unreachable))
    (drop)
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $self))
      (unreachable)))
  (func (export "caught in between") (result i32 i32)
    (global.set $a (fiber.new $done (on $go $catches)))
    (call $run)
    (call $run))

  ;; Another function mounts a suspended chain. The exception unwinds the chain first, and then the
  ;; frames of the new parent.
  (func $inner (param $top fiberref) (param $self fiberref)
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $top))
      (unreachable))
    (throw $x (i32.const 20)))
  (func $outer (param $self fiberref)
    (block $x (result i32)
      (try_table (catch $x $x)
        (fiber.mount $go (fiber.new $done (on $go $inner) (local.get $self))))
      (unreachable))
    (throw $x (i32.add (i32.const 1))))
  (func (export "in a chain") (result i32)
    (global.set $a (fiber.new $done (on $go $outer)))
    (block $up
      (block $no
        (try_table (catch_all $no)
          (fiber.mount $go (on $up $up) (global.get $a))))
      (unreachable))
    (call $run))

  ;; The exception leaves a fiber created by `fiber.mount_new` or `fiber.switch_new`.
  (func (export "mount_new") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (drop (fiber.mount_new $done $throws)))
      (unreachable)))
  (func $switch-new (param $self fiberref)
    (block $no
      (try_table (catch_all $no)
        (drop (fiber.switch_new $done $throws (local.get $self)))))
    (unreachable))
  (func (export "switch_new") (result i32)
    (global.set $a (fiber.new $done (on $go $switch-new)))
    (call $run))

  ;; `throw_ref` throws an exception of another fiber.
  (func $rethrows (param $self fiberref)
    (block $x (result exnref)
      (try_table (catch_all_ref $x) (fiber.mount $go (fiber.new $done (on $go $throws))))
      (unreachable))
    (throw_ref))
  (func (export "rethrown") (result i32)
    (global.set $a (fiber.new $done (on $go $rethrows)))
    (call $run))

  (func (export "many") (param $n i32)
    (loop $next
      (drop (call $run-nest))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func $run-nest (result i32)
    (global.set $a (fiber.new $done (on $go $nest) (i32.const 3)))
    (call $run)))

(assert_return (invoke "at once") (i32.const 7))
(assert_trap (invoke "mount a") "fiber is moribund")
(assert_return (invoke "later") (i32.const 0) (i32.const 8))
(assert_trap (invoke "mount a") "fiber is moribund")
(assert_return (invoke "after a switch") (i32.const 7))
(assert_trap (invoke "mount b") "fiber is moribund")
;; The fiber that was switched away is suspended without clauses.
(assert_return (invoke "mount a"))
(assert_return (invoke "through" (i32.const 0)) (i32.const 9))
(assert_return (invoke "through" (i32.const 1)) (i32.const 9))
(assert_return (invoke "through" (i32.const 100)) (i32.const 9))
(assert_exception (invoke "uncaught" (i32.const 0)))
(assert_exception (invoke "uncaught" (i32.const 5)))
(assert_return (invoke "caught in between") (i32.const 0) (i32.const 0))
(assert_return (invoke "in a chain") (i32.const 21))
(assert_trap (invoke "mount a") "fiber is moribund")
(assert_return (invoke "mount_new") (i32.const 7))
(assert_return (invoke "switch_new") (i32.const 7))
(assert_return (invoke "rethrown") (i32.const 7))
(assert_return (invoke "many" (i32.const 1000)))
