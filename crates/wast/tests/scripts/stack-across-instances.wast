;; Stacks of one instance are switched to by another: types are the same when
;; they say the same, and a function knows its own instance.

(module $workshop
  (rec
    (type $order (stack (param i32) (ref null $parcel)))
    (type $parcel (stack (param i32 i32) (ref null $order))))
  (global $made (mut i32) (i32.const 0))
  (func $makes (param $n i32) (param $back (ref null $parcel))
    (loop $next
      (global.set $made (i32.add (global.get $made) (i32.const 1)))
      (switch $parcel (i32.mul (local.get $n) (i32.const 3)) (global.get $made) (local.get $back))
      (local.set $back)
      (local.set $n)
      (br $next)))
  (func (export "new") (result (ref $order)) (stack.new $order $makes))
  (func (export "makes") (param i32) (param (ref null $parcel))
    (return_call $makes (local.get 0) (local.get 1)))
  (func (export "ask") (param i32) (param (ref null $order))
    (result i32 i32 (ref null $order))
    (switch $order (local.get 0) (local.get 1)))
  (tag (export "cancel") (param (ref null $parcel)))
  (global (export "spare") (mut (ref null $order)) (ref.null $order))
  (table (export "shelf") 2 (ref null $order)))
(register "workshop")

(module
  (rec
    (type $there (stack (param $n i32) (param (ref null $here))))
    (type $here (stack (param i32) (param i32) (ref null $there))))
  (import "workshop" "new" (func $new (result (ref $there))))
  (import "workshop" "makes" (func $makes (param i32 (ref null $here))))
  (import "workshop" "ask"
    (func $ask (param i32 (ref null $there)) (result i32 i32 (ref null $there))))
  (import "workshop" "cancel" (tag $cancel (param (ref null $here))))
  (import "workshop" "spare" (global $spare (mut (ref null $there))))
  (import "workshop" "shelf" (table $shelf 2 (ref null $there)))

  ;; A stack of theirs, switched to here.
  (func (export "their stack") (result i32 i32)
    (switch $there (i32.const 5) (call $new))
    (drop))
  ;; Their function on a stack of ours.
  (func (export "their function") (result i32 i32)
    (switch $there (i32.const 6) (stack.new $there $makes))
    (drop))
  ;; Our stack, switched to by them: this root waits in their function.
  (func $ours (param $n i32) (param $back (ref null $here))
    (loop $next
      (block $h (result (ref null $here))
        (try_table (catch $cancel $h)
          (switch $here (local.get $n) (i32.const -1) (local.get $back))
          (local.set $back)
          (local.set $n)
          (br $next))
        (unreachable))
      (local.set $back)
      (switch_retire $here (i32.const -2) (i32.const -2) (local.get $back))))
  (func (export "our stack") (result i32 i32)
    (call $ask (i32.const 7) (stack.new $there $ours))
    (global.set $spare))
  ;; Their tag.
  (func (export "cancel") (result i32 i32)
    (switch_throw $there $cancel (global.get $spare))
    (drop))
  ;; Through their global and their table.
  (func (export "store")
    (table.set $shelf (i32.const 1) (call $new)))
  (func (export "fetch") (result i32 i32)
    (call $ask (i32.const 8) (table.get $shelf (i32.const 1)))
    (drop)))

(assert_return (invoke "their stack") (i32.const 15) (i32.const 1))
(assert_return (invoke "their function") (i32.const 18) (i32.const 2))
(assert_return (invoke "our stack") (i32.const 7) (i32.const -1))
(assert_return (invoke "cancel") (i32.const -2) (i32.const -2))
(assert_return (invoke "store"))
(assert_return (invoke "fetch") (i32.const 24) (i32.const 3))
(assert_trap (invoke "fetch") "stack reference already used")

;; Types that say something else do not link.
(assert_unlinkable
  (module
    (type $c (stack (param i32) (ref null $c)))
    (import "workshop" "new" (func (result (ref $c)))))
  "incompatible import type")
(assert_unlinkable
  (module
    (type $f (func (param i32)))
    (type $k (cont $f))
    (import "workshop" "new" (func (result (ref $k)))))
  "incompatible import type")
