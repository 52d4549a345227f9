;; If the receiver has no clause for an event, the sending instruction falls through.
;; It only consumes its operands. A program can therefore try a cheap event before a general one.

(module
  (tag $go)
  (tag $other)
  (tag $int (param i32))
  (tag $box (param (ref i31)))
  (tag $two (param i64 f32))
  (tag $done)
  (global $ran (mut i32) (i32.const 0))
  (func $body (param $self fiberref)
    (global.set $ran (i32.add (global.get $ran) (i32.const 1)))
    (block $go
      (fiber.dismount $done (on $go $go) (local.get $self))
      (unreachable))
    (global.set $ran (i32.add (global.get $ran) (i32.const 10))))

  ;; mount: a fresh and a suspended fiber stay unchanged.
  (func (export "mount") (result i32 i32 i32)
    (local $f fiberref)
    (global.set $ran (i32.const 0))
    (local.set $f (fiber.new $other (on $go $body)))
    (fiber.mount $other (local.get $f))
    (fiber.mount $two (i64.const 1) (f32.const 2) (local.get $f))
    (global.get $ran)
    (block $done
      (fiber.mount $go (on $done $done) (local.get $f))
      (unreachable))
    (fiber.mount $other (local.get $f))
    (fiber.mount $two (i64.const 1) (f32.const 2) (local.get $f))
    (fiber.mount $done (local.get $f))
    (global.get $ran)
    (block $over
      (fiber.mount $go (on $other $over) (local.get $f))
      (unreachable))
    (global.get $ran))

  ;; A fiber without clauses handles no event.
  (func (export "no clauses") (result i32)
    (local $f fiberref)
    (local.set $f (fiber.new))
    (fiber.mount $go (local.get $f))
    (fiber.mount $int (i32.const 1) (local.get $f))
    (local.set $f (fiber.new $done))
    (fiber.mount $done (local.get $f))
    (i32.const 1))

  ;; dismount: the parent has no clause. The fiber keeps running and sends another event.
  (func $boxes (param $self fiberref)
    (fiber.dismount $int (i32.const 41) (local.get $self))
    (fiber.dismount $box (ref.i31 (i32.const 42)) (local.get $self))
    (unreachable))
  (func (export "dismount, both handled") (result i32)
    (block $box (result (ref i31))
      (block $int (result i32)
        (fiber.mount $go (on $int $int) (on $box $box) (fiber.new (on $go $boxes)))
        (unreachable))
      (return))
    (i31.get_u))
  (func (export "dismount, one handled") (result i32)
    (block $box (result (ref i31))
      (fiber.mount $go (on $box $box) (fiber.new (on $go $boxes)))
      (unreachable))
    (i31.get_u))
  (func (export "dismount, none handled")
    (fiber.mount $go (fiber.new (on $go $boxes))))

  ;; switch: to a fresh and to a suspended fiber.
  (func $taker (param $self fiberref) (param $i (ref i31))
    (global.set $ran (i31.get_u (local.get $i)))
    (fiber.dismount $done (local.get $self)))
  (func $tries (param $other fiberref) (param $self fiberref)
    (fiber.switch $int (i32.const 5) (local.get $self) (local.get $other))
    (fiber.switch $go (local.get $self) (local.get $other))
    (fiber.switch $box (ref.i31 (i32.const 6)) (local.get $self) (local.get $other))
    (unreachable))
  (func (export "switch, fresh") (result i32)
    (block $done
      (fiber.mount $go (on $done $done)
        (fiber.new (on $go $tries) (fiber.new (on $box $taker))))
      (unreachable))
    (global.get $ran))
  (func (export "nothing else is tried") (result i32)
    ;; Clauses of outer fibers do not count.
    (block $int (result i32)
      (fiber.mount $go (on $int $int) (fiber.new (on $go $outer)))
      (return (i32.const 0))))
  (func $outer (param $self fiberref)
    (block $done
      (fiber.mount $go (on $done $done) (fiber.new (on $go $inner)))
      (unreachable))
    (fiber.dismount $int (i32.const 7) (local.get $self)))
  (func $inner (param $self fiberref)
    ;; The root has a clause for $int, but only the parent is asked.
    (fiber.dismount $int (i32.const 8) (local.get $self))
    (fiber.dismount $done (local.get $self)))

  ;; Falling through keeps the values below the operands.
  (func (export "values below") (result i32 i64)
    (i32.const 3)
    (i64.const 4)
    (fiber.mount $two (i64.const 1) (f32.const 2) (fiber.new)))

  ;; The clauses of an instruction that fell through are inactive.
  (func $falls (param $self fiberref)
    (block $never
      (fiber.dismount $other (on $go $never) (local.get $self))
      (block $here
        (fiber.dismount $done (on $go $here) (local.get $self))
        (unreachable))
      (fiber.dismount $int (i32.const 1) (local.get $self)))
    (fiber.dismount $int (i32.const 2) (local.get $self)))
  (func (export "clauses of a fall through") (result i32)
    (local $f fiberref)
    (local.set $f (fiber.new (on $go $falls)))
    (block $done
      (fiber.mount $go (on $done $done) (local.get $f))
      (unreachable))
    (block $int (result i32)
      (fiber.mount $go (on $int $int) (local.get $f))
      (unreachable))))

(assert_return (invoke "mount") (i32.const 0) (i32.const 1) (i32.const 11))
(assert_return (invoke "no clauses") (i32.const 1))
(assert_return (invoke "dismount, both handled") (i32.const 41))
(assert_return (invoke "dismount, one handled") (i32.const 42))
(assert_trap (invoke "dismount, none handled") "unreachable")
(assert_return (invoke "switch, fresh") (i32.const 6))
(assert_return (invoke "nothing else is tried") (i32.const 7))
(assert_return (invoke "values below") (i32.const 3) (i64.const 4))
(assert_return (invoke "clauses of a fall through") (i32.const 1))
