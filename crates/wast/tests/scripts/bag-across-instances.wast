;; Stacks cross instances: equal types match, and a function runs in its own instance.

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

  ;; Switches to a stack of the other instance.
  (func (export "a stack of the other instance") (result i32 i32)
    (switch $there (i32.const 5) (call $new))
    (drop))
  ;; Runs a function of the other instance on a stack of this one.
  (func (export "a function of the other instance") (result i32 i32)
    (switch $there (i32.const 6) (stack.new $there $makes))
    (drop))
  ;; The other instance switches to a stack of this one, and this root is suspended in its function.
  (func $body (param $n i32) (param $back (ref null $here))
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
  (func (export "a stack of this instance") (result i32 i32)
    (call $ask (i32.const 7) (stack.new $there $body))
    (global.set $spare))
  ;; Uses a tag of the other instance.
  (func (export "cancel") (result i32 i32)
    (switch_throw $there $cancel (global.get $spare))
    (drop))
  ;; Uses a global and a table of the other instance.
  (func (export "store")
    (table.set $shelf (i32.const 1) (call $new)))
  (func (export "fetch") (result i32 i32)
    (call $ask (i32.const 8) (table.get $shelf (i32.const 1)))
    (drop)))

(assert_return (invoke "a stack of the other instance") (i32.const 15) (i32.const 1))
(assert_return (invoke "a function of the other instance") (i32.const 18) (i32.const 2))
(assert_return (invoke "a stack of this instance") (i32.const 7) (i32.const -1))
(assert_return (invoke "cancel") (i32.const -2) (i32.const -2))
(assert_return (invoke "store"))
(assert_return (invoke "fetch") (i32.const 24) (i32.const 3))
(assert_trap (invoke "fetch") "stack reference already used")

;; Different types do not link.
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
