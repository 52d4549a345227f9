;; Every use that would copy or lose a `stackref` is invalid.

;; These definitions are valid and shared by all modules below.
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e (param stackref)) (event $n (param i32)) (event $none)
  (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
  (func (param $s stackref) (drop (local.get_clear $s))))

;; Locals.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (param $s stackref) (drop (local.get $s))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (param $s stackref) (result stackref) (local.get $s)))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $s stackref) (local.set $s (call $new))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $s stackref) (drop (local.tee $s (call $new)))))
  "linear")

;; Globals.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (global.get $g))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (global.set $g (call $new))))
  "linear")

;; Tables.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (table.get $t (i32.const 0)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (table.set $t (i32.const 0) (call $new))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (table.fill $t (i32.const 0) (call $new) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (table $u 4 stackref)
    (func (table.copy $t $u (i32.const 0) (i32.const 0) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (table.copy $t $t (i32.const 0) (i32.const 0) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (table.grow $t (call $new) (i32.const 1)))))
  "linear")

;; Element segments.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (elem $s stackref (ref.null stack)))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (elem declare stackref (ref.null stack)))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (elem (table $t) (i32.const 0) stackref (ref.null stack)))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (elem $s stackref (ref.null stack))
    (func (table.init $t $s (i32.const 0) (i32.const 0) (i32.const 1))))
  "linear")

;; select.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (select (result stackref) (call $new) (call $new) (i32.const 0)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (select (call $new) (call $new) (i32.const 0)))))
  "linear")

;; Fields.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field stackref))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field i32) (field $f stackref))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $a (array stackref)))
  "linear")

;; Objects with stackref fields.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $s)) (drop (struct.get $s $f (local.get 0)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $s)) (drop (struct.get $s 1 (local.get 0)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $s)) (struct.set $s $f (local.get 0) (call $new))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $a)) (drop (array.get $a (local.get 0) (i32.const 0)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $a)) (array.set $a (local.get 0) (i32.const 0) (call $new))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (drop (array.new $a (call $new) (i32.const 1)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (drop (array.new $a (ref.null stack) (i32.const 1)))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (global $o (ref $a) (array.new $a (ref.null stack) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $a)) (array.fill $a (local.get 0) (i32.const 0) (call $new) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (func (param (ref $a))
      (array.copy $a $a (local.get 0) (i32.const 0) (local.get 0) (i32.const 0) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (elem $x (ref null nocont) (ref.null nocont))
    (func (param (ref $a))
      (array.init_elem $a $x (local.get 0) (i32.const 0) (i32.const 0) (i32.const 1))))
  "linear")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (type $s (struct (field $i i32) (field $f (mut stackref)))) (type $a (array (mut stackref)))
    (elem $x (ref null nocont) (ref.null nocont))
    (func (drop (array.new_elem $a $x (i32.const 0) (i32.const 1)))))
  "linear")

;; A global must be mutable, and starts as null.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (global $h stackref (ref.null stack)))
  "linear")

;; Casts, tests and comparisons.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (result i32) (ref.eq (call $new) (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (result i32) (ref.test (ref cont) (call $new))))
  "invalid cast")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (ref.cast (ref null cont) (call $new)))))
  "invalid cast")

;; A stackref is not a reference to a stack of the bag, a continuation or a fiber.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (param $s (ref null stack)) (stack.switch $e (local.get $s))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (result (ref null stack)) (call $new)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (param $s (ref null cont)) (result stackref) (local.get $s)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (param $f fiberref) (result stackref) (local.get $f)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (result fiberref) (call $new)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (result anyref) (call $new)))
  "type mismatch")

;; The `_clear` and `_cleared` instructions require nullable references.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $i i32) (drop (local.get_clear $i))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $i i32) (local.set_cleared $i (i32.const 0))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (global $i (mut i32) (i32.const 0)) (func (drop (global.get_clear $i))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (global $i (mut i32) (i32.const 0)) (func (global.set_cleared $i (i32.const 0))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $s stackref) (local.set_cleared $s (i32.const 0))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (local $s stackref) (local.set_cleared $s)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (table.set_cleared $t (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)
    (func (drop (table.get_clear $t))))
  "type mismatch")

;; Unknown names.
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)"
    "(func (drop (local.get_clear $unknown)))")
  "unknown local")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)"
    "(func (global.set_cleared $unknown (call $new)))")
  "unknown global")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(global $g (mut stackref) (ref.null stack)) (table $t 4 stackref)"
    "(func (drop (table.get_clear $unknown (i32.const 0))))")
  "unknown table")
