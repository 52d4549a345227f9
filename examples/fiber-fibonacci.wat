;; A generator and its consumer as fibers that switch to each other. The
;; generator of the Fibonacci numbers first offers a bare integer. If its consumer
;; has no clause for that event, nothing is switched, and it offers a boxed
;; integer, which every consumer accepts.
;;
;; The sum of the first numbers, for a consumer that accepts integers, and the
;; number of boxes:
;;
;;   $ ropewalk run --invoke sum examples/fiber-fibonacci.wat 3
;;   2
;;   0
;;   $ ropewalk run --invoke sum examples/fiber-fibonacci.wat 10
;;   88
;;   0
;;
;; For a consumer that accepts only objects:
;;
;;   $ ropewalk run --invoke sum-of-objects examples/fiber-fibonacci.wat 10
;;   88
;;   10

(module
  (type $object (struct (field $value i32)))

  ;; The event of the consumer: send the next number to this fiber.
  (tag $next (param fiberref))
  ;; The events of the generator. This one never ends, but others may.
  (tag $yield-int (param i32))
  (tag $yield-object (param (ref $object)))
  (tag $end)
  ;; The event that starts a consumer, and its result.
  (tag $start (param i32))
  (tag $sum (param i32))

  (global $boxes (mut i32) (i32.const 0))
  (func $box (param $value i32) (result (ref $object))
    (global.set $boxes (i32.add (global.get $boxes) (i32.const 1)))
    (struct.new $object (local.get $value)))

  ;; ---- the generator

  ;; The generator never returns, so it needs no return event.
  (func $fibonacci (result (ref fiber)) (fiber.new (on $next $generate)))

  (func $generate (param $this fiberref) (param $other fiberref)
    (local $i i32) (local $j i32) (local $k i32)
    (local.set $j (i32.const 1))
    (loop $loop
      (block $handle-next (result fiberref)
        (fiber.switch $yield-int (on $next $handle-next)
          (local.get $i) (local.get $this) (local.get $other))
        ;; Reached only if the other fiber does not accept integers.
        (fiber.switch $yield-object (on $next $handle-next)
          (call $box (local.get $i)) (local.get $this) (local.get $other))
        (unreachable))
      (local.set $other)
      (local.set $k (i32.add (local.get $i) (local.get $j)))
      (local.set $i (local.get $j))
      (local.set $j (local.get $k))
      (br $loop)))

  ;; ---- the consumers

  (func $sum (param $this fiberref) (param $count i32) (result i32)
    (local $iterator fiberref) (local $sum i32)
    (local.set $iterator (call $fibonacci))
    (block $handle-end
      (loop $loop
        (br_if $handle-end (i32.eqz (local.get $count)))
        (block $handle-int (result i32)
          (block $handle-object (result (ref $object))
            (fiber.switch $next
              (on $yield-int $handle-int)
              (on $yield-object $handle-object)
              (on $end $handle-end)
              (local.get $this) (local.get $this) (local.get $iterator))
            (unreachable))
          (struct.get $object $value))
        (local.set $sum (i32.add (local.get $sum)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $loop)))
    (fiber.release (local.get $iterator))
    (local.get $sum))

  (func $sum-of-objects (param $this fiberref) (param $count i32) (result i32)
    (local $iterator fiberref) (local $sum i32)
    (local.set $iterator (call $fibonacci))
    (block $handle-end
      (loop $loop
        (br_if $handle-end (i32.eqz (local.get $count)))
        (block $handle-object (result (ref $object))
          (fiber.switch $next (on $yield-object $handle-object) (on $end $handle-end)
            (local.get $this) (local.get $this) (local.get $iterator))
          (unreachable))
        (struct.get $object $value)
        (local.set $sum (i32.add (local.get $sum)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $loop)))
    (fiber.release (local.get $iterator))
    (local.get $sum))

  ;; ---- entry points: the consumers run on a fiber, so that they can switch

  (func $run (param $consumer fiberref) (param $count i32) (result i32 i32)
    (block $done (result i32)
      (fiber.mount $start (on $sum $done) (local.get $count) (local.get $consumer))
      (unreachable))
    (global.get $boxes))
  (func (export "sum") (param $count i32) (result i32 i32)
    (call $run (fiber.new $sum (on $start $sum)) (local.get $count)))
  (func (export "sum-of-objects") (param $count i32) (result i32 i32)
    (call $run (fiber.new $sum (on $start $sum-of-objects)) (local.get $count))))
