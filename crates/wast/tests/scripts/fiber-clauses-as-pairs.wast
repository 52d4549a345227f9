;; Clauses may be written as bare pairs of an event and a label or function.

(module
  (tag $next)
  (tag $again)
  (tag $yield (param i32))
  (tag $end (param i64))
  (func $one (param $me fiberref) (result i64)
    (block $continue
      (fiber.dismount $yield $again $continue (i32.const 1) (local.get $me))
      (unreachable))
    (i64.const 10))
  (func $two (param $me fiberref) (result i64)
    (block $continue
      (fiber.dismount $yield $next $continue $again $continue (i32.const 2) (local.get $me))
      (unreachable))
    (i64.const 20))
  (func $start (param $fiber fiberref) (param $again i32) (result i32)
    (block $yielded (result i32)
      (if (local.get $again)
        (then (fiber.mount $again $yield $yielded (local.get $fiber)))
        (else (fiber.mount $next $yield $yielded (local.get $fiber))))
      (i32.const -1)))
  (func $finish (param $fiber fiberref) (result i64)
    (block $yielded (result i32)
      (block $ended (result i64)
        local.get $fiber
        fiber.mount $again $yield $yielded $end $ended
        unreachable)
      (return))
    (unreachable))
  ;; An odd number of names: the first is the return event.
  (func (export "odd") (param i32) (result i32 i64)
    (local $fiber fiberref)
    (local.set $fiber (fiber.new $end $next $one $again $two))
    (call $start (local.get $fiber) (local.get 0))
    (call $finish (local.get $fiber)))
  ;; An even number of names: there is no return event.
  (func (export "even") (result i32)
    (call $start (fiber.new $next $one) (i32.const 0)))
  (func (export "even returns") (result i64)
    (local $fiber fiberref)
    (local.set $fiber (fiber.new $next $one))
    (drop (call $start (local.get $fiber) (i32.const 0)))
    (call $finish (local.get $fiber)))
  ;; The event is not handled.
  (func (export "unhandled") (result i32)
    (call $start (fiber.new $next $one) (i32.const 1)))
  (func (export "only the return event") (result i32)
    (call $start (fiber.new $end) (i32.const 1)))

  (func (export "mount_new") (result i32 i64)
    (local $fiber fiberref) (local $value i32)
    (block $yielded (result (ref fiber) i32)
      (fiber.mount_new $end $one $yield $yielded)
      (unreachable))
    (local.set $value)
    (local.set $fiber)
    (local.get $value)
    (call $finish (local.get $fiber)))

  (func $switches (param $me fiberref) (result i64)
    (block $yielded (result (ref fiber) i32)
      (fiber.switch_new $end $two $yield $yielded (local.get $me))
      (unreachable))
    (unreachable))
  (func (export "switch_new") (result i32)
    (call $start (fiber.new $end $next $switches) (i32.const 0)))
  (func $switches-on (param $me fiberref) (result i64)
    (block $continue
      (fiber.switch $again $next $continue (local.get $me) (fiber.new $end $next $one $again $two))
      (unreachable))
    (unreachable))
  (func (export "switch") (result i32)
    (call $start (fiber.new $end $next $switches-on) (i32.const 0))))

(assert_return (invoke "odd" (i32.const 0)) (i32.const 1) (i64.const 10))
(assert_return (invoke "odd" (i32.const 1)) (i32.const 2) (i64.const 20))
(assert_return (invoke "even") (i32.const 1))
(assert_trap (invoke "even returns") "fiber function returned")
(assert_return (invoke "unhandled") (i32.const -1))
(assert_return (invoke "only the return event") (i32.const -1))
(assert_return (invoke "mount_new") (i32.const 1) (i64.const 10))
(assert_return (invoke "switch_new") (i32.const 2))
(assert_return (invoke "switch") (i32.const 2))

;; ---- Both forms in one instruction, and half a pair.

(assert_malformed
  (module quote "(tag $e) (func (block $l (fiber.mount $e $e $l (on $e $l) (ref.null fiber))))")
  "the clauses of one instruction are all written as pairs")
(assert_malformed
  (module quote "(tag $e) (func (block $l (fiber.mount $e (on $e $l) $e $l (ref.null fiber))))")
  "the clauses of one instruction are all written as pairs")
(assert_malformed
  (module quote "(tag $e) (func $f (param fiberref)) (func (drop (fiber.new $e $f (on $e $f))))")
  "the clauses of one instruction are all written as pairs")
(assert_malformed
  (module quote "(tag $e) (func (block $l (fiber.mount $e $e (ref.null fiber))))")
  "half a clause")
(assert_malformed
  (module quote "(tag $e) (func (block $l (fiber.switch $e $e $l $e (ref.null fiber) (ref.null fiber))))")
  "half a clause")
(assert_malformed
  (module quote "(tag $e) (func $f (param fiberref)) (func (drop (fiber.mount_new $e $f $e)))")
  "half a clause")
(assert_malformed
  (module quote "(tag $e) (func (drop (fiber.new $e $e)))")
  "unknown function")
(assert_malformed
  (module quote "(tag $e) (func (block $l (fiber.dismount_release $e $e $l (ref.null fiber))))")
  "has no clauses")
(assert_invalid
  (module (tag $e (param i32)) (func (block $l (fiber.mount $e $e $l (i32.const 1) (ref.null fiber)))))
  "type mismatch")

;; ---- Names of an earlier draft.

(assert_malformed (module quote "(func (fiber.spawn))") "it is `fiber.mount_new` now")
(assert_malformed (module quote "(func (fiber.resume))") "it is `fiber.mount` now")
(assert_malformed (module quote "(func (fiber.suspend))") "it is `fiber.dismount` now")
(assert_malformed (module quote "(func (fiber.retire))") "it is `fiber.dismount_release` now")
(assert_malformed
  (module quote "(tag $e) (func (param fiberref) local.get 0 fiber.resume $e)")
  "it is `fiber.mount` now")

;; ---- fiber.eq.

(module $fibers
  (tag $go)
  (tag $end)
  (table $table (export "fibers") 4 fiberref)
  (func $body (param $me (ref fiber)) (table.set $table (i32.const 3) (local.get $me)))
  (func (export "fill")
    (table.set $table (i32.const 0) (fiber.new $end $go $body))
    (table.set $table (i32.const 1) (fiber.new $end $go $body)))
  (func (export "eq") (param i32 i32) (result i32)
    (fiber.eq (table.get $table (local.get 0)) (table.get $table (local.get 1))))
  (func (export "mount") (param i32)
    (block $ended
      (fiber.mount $go $end $ended (table.get $table (local.get 0)))
      (unreachable)))
  (func (export "release") (param i32) (fiber.release (table.get $table (local.get 0)))))
(register "fibers")
(assert_return (invoke "eq" (i32.const 0) (i32.const 1)) (i32.const 1))
(invoke "fill")
(assert_return (invoke "eq" (i32.const 0) (i32.const 1)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 0) (i32.const 2)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 0) (i32.const 0)) (i32.const 1))
;; A moribund fiber, and a fiber's reference to itself.
(invoke "mount" (i32.const 0))
(assert_return (invoke "eq" (i32.const 0) (i32.const 3)) (i32.const 1))
(assert_return (invoke "eq" (i32.const 0) (i32.const 2)) (i32.const 0))
(invoke "release" (i32.const 1))
(assert_return (invoke "eq" (i32.const 1) (i32.const 1)) (i32.const 1))
(assert_return (invoke "eq" (i32.const 1) (i32.const 3)) (i32.const 0))
(module
  (import "fibers" "fibers" (table $table 4 fiberref))
  (func (export "eq") (result i32)
    (fiber.eq (table.get $table (i32.const 3)) (table.get $table (i32.const 0)))))
(assert_return (invoke "eq") (i32.const 1))

(assert_invalid (module (func (param fiberref) (result i32) (fiber.eq (local.get 0)))) "type mismatch")
(assert_invalid
  (module (func (param fiberref taskref) (result i32) (fiber.eq (local.get 0) (local.get 1))))
  "type mismatch")
(assert_invalid
  (module (func (param fiberref) (result i32) (task.eq (local.get 0) (local.get 0))))
  "type mismatch")
