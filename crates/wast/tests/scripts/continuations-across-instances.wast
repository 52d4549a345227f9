;; Tags, functions and continuations cross instances.
;; One instance creates a continuation, another resumes it, and a third handles its suspension.

(module $effects
  (type $f (func (result i32)))
  (type $k (cont $f))
  (tag $yield (export "yield") (param i32) (result i32))
  (table (export "kept") 10 (ref null $k))
  (global (export "current") (mut (ref null $k)) (ref.null $k))
  (global $base (mut i32) (i32.const 100))
  ;; This body suspends by itself and depends on state of its instance.
  (func (export "body") (result i32)
    (global.set $base (i32.add (global.get $base) (i32.const 1)))
    (i32.add (global.get $base) (suspend $yield (i32.const 3)))))
(register "effects" $effects)

(module $maker
  (type $f (func (result i32)))
  (type $k (cont $f))
  (tag $yield (import "effects" "yield") (param i32) (result i32))
  (func $body (import "effects" "body") (result i32))
  (table $kept (import "effects" "kept") 10 (ref null $k))
  (global $current (import "effects" "current") (mut (ref null $k)))
  (elem declare func $body $own)
  (global $own (mut i32) (i32.const 7))
  (func $own (export "own") (result i32)
    (i32.mul (global.get $own) (suspend $yield (global.get $own))))
  (func (export "imported") (result (ref $k)) (cont.new $k (ref.func $body)))
  (func (export "own body") (result (ref $k)) (cont.new $k (ref.func $own)))
  (func (export "keep")
    (table.set $kept (i32.const 5) (cont.new $k (ref.func $own)))
    (global.set $current (cont.new $k (ref.func $body)))))
(register "maker" $maker)

(module $runner
  (type $f (func (result i32)))
  (type $k (cont $f))
  (type $g (func (param i32) (result i32)))
  (type $kg (cont $g))
  (tag $yield (import "effects" "yield") (param i32) (result i32))
  (func $imported (import "maker" "imported") (result (ref $k)))
  (func $own (import "maker" "own body") (result (ref $k)))
  (func $keep (export "keep") (import "maker" "keep"))
  (table $kept (import "effects" "kept") 10 (ref null $k))
  (global $current (import "effects" "current") (mut (ref null $k)))
  (tag $private (param i32) (result i32))
  ;; Resumes with ten times the payload of the suspension.
  (func $run (param $k (ref null $k)) (result i32)
    (local $i i32) (local $kg (ref $kg))
    (block $h (result i32 (ref $kg))
      (return (resume $k (on $yield $h) (local.get $k))))
    (local.set $kg)
    (local.set $i)
    (resume $kg (i32.mul (i32.const 10) (local.get $i)) (local.get $kg)))
  (func (export "imported") (result i32) (call $run (call $imported)))
  (func (export "own") (result i32) (call $run (call $own)))
  (func (export "kept") (result i32 i32)
    (call $run (table.get $kept (i32.const 5)))
    (call $run (global.get $current)))
  ;; A tag of the same type is still another tag.
  (func (export "private") (result i32)
    (block $h (result i32 (ref $kg))
      (return (resume $k (on $private $h) (call $own))))
    (unreachable)))

(assert_return (invoke "imported") (i32.const 131))
(assert_return (invoke "imported") (i32.const 132))
(assert_return (invoke "own") (i32.const 490))
(assert_suspension (invoke "private") "unhandled tag")
(assert_return (invoke "keep"))
(assert_return (invoke "kept") (i32.const 490) (i32.const 133))
(assert_trap (invoke "kept") "continuation already consumed")

;; The body can be an imported host function.
(module
  (func $print (import "spectest" "print_i32") (param i32))
  (type $f (func (param i32)))
  (type $k (cont $f))
  (elem declare func $print)
  (func (export "print") (resume $k (i32.const 1) (cont.new $k (ref.func $print)))))
(assert_return (invoke "print"))

;; The type of an imported tag must match.
(assert_unlinkable
  (module (tag (import "effects" "yield") (param i32)))
  "incompatible import type")
