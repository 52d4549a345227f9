;; Fibers, events and functions cross instances.

(module $events
  (tag (export "go"))
  (tag (export "give") (param i32))
  (table (export "kept") 2 fiberref)
  (global (export "current") (mut fiberref) (ref.null fiber)))
(register "events" $events)

(module $maker
  (import "events" "go" (tag $go))
  (import "events" "give" (tag $give (param i32)))
  (import "events" "kept" (table $kept 2 fiberref))
  (import "events" "current" (global $current (mut fiberref)))
  (global $base (mut i32) (i32.const 100))
  (func $counts (param $self fiberref)
    (loop $next
      (global.set $base (i32.add (global.get $base) (i32.const 1)))
      (fiber.dismount $give (on $go $next) (global.get $base) (local.get $self))
      (unreachable)))
  (func (export "make") (result (ref fiber)) (fiber.new (on $go $counts)))
  (func (export "keep")
    (table.set $kept (i32.const 1) (fiber.new (on $go $counts)))
    (global.set $current (table.get $kept (i32.const 1))))
  (func (export "body") (param fiberref) (result i32) (global.get $base)))
(register "maker" $maker)

(module
  (import "events" "go" (tag $go))
  (import "events" "give" (tag $give (param i32)))
  (import "events" "kept" (table $kept 2 fiberref))
  (import "events" "current" (global $current (mut fiberref)))
  (import "maker" "make" (func $make (result (ref fiber))))
  (import "maker" "keep" (func $keep))
  (import "maker" "body" (func $body (param fiberref) (result i32)))
  (tag $private)
  (func $next (param $f fiberref) (result i32)
    (block $give (result i32)
      (fiber.mount $go (on $give $give) (local.get $f))
      (unreachable)))
  (func (export "run") (result i32 i32)
    (local $f fiberref)
    (local.set $f (call $make))
    (call $next (local.get $f))
    (call $next (local.get $f)))
  (func (export "kept") (result i32 i32)
    (call $keep)
    (call $next (table.get $kept (i32.const 1)))
    (call $next (global.get $current)))
  (func (export "private") (result i32)
    (fiber.mount $private (call $make))
    (i32.const 1))
  ;; The body of the fiber is an imported function.
  (func (export "body") (result i32)
    (block $give (result i32)
      (fiber.mount $go (on $give $give) (fiber.new $give (on $go $body)))
      (unreachable))))

(assert_return (invoke "run") (i32.const 101) (i32.const 102))
(assert_return (invoke "kept") (i32.const 103) (i32.const 104))
(assert_return (invoke "private") (i32.const 1))
(assert_return (invoke "body") (i32.const 104))

;; Types of other designs do not match.
(assert_unlinkable
  (module (import "maker" "body" (func $f (param stackref) (result i32))))
  "incompatible import type")
(assert_unlinkable
  (module (import "maker" "body" (func $f (param (ref null cont)) (result i32)))
    (tag $e) (func (fiber.mount $e (fiber.new))))
  "incompatible import type")
(assert_unlinkable
  (module
    (type $t (task))
    (import "maker" "body" (func $f (param (ref null $t)) (result i32))))
  "incompatible import type")
