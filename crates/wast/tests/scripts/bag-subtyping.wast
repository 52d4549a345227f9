;; Stack types are contravariant in their parameters and in their return stack.
;; Values may be of subtypes.

(module
  (type $a (sub (struct (field i32))))
  (type $b (sub $a (struct (field i32) (field i32))))
  (type $idle (stack (ref null $idle)))
  (type $done (stack (param i32) (ref null $idle)))
  (type $takes-b (sub (stack (param (ref $b)) (ref null $done))))
  (type $takes-a (sub $takes-b (stack (param (ref $a)) (ref null $done))))
  (func $body (param $a (ref $a)) (param $back (ref null $done))
    (switch_retire $done (struct.get $a 0 (local.get $a)) (local.get $back)))
  (func $b (param i32) (result (ref $b)) (struct.new $b (local.get 0) (i32.const 0)))

  (func (export "stack") (result i32)
    (local $s (ref null $takes-b))
    (local.set $s (stack.new $takes-a $body))
    (switch $takes-b (call $b (i32.const 1)) (local.get $s))
    (drop))
  ;; A function with more general parameters has the subtype.
  (func (export "function") (result i32)
    (switch $takes-b (call $b (i32.const 2)) (stack.new $takes-b $body))
    (drop))
  (type $takes-b.func (func (param (ref $b)) (param (ref null $done))))
  (type $takes-a.func (func (param (ref $a)) (param (ref null $done))))
  (elem declare func $body)
  (func (export "function reference") (result i32)
    (switch $takes-b (call $b (i32.const 3))
      (stack.new_ref $takes-b $takes-a.func (ref.func $body)))
    (drop))
  (func (export "value") (result i32)
    (switch $takes-a (call $b (i32.const 4)) (stack.new $takes-a $body))
    (drop))

  ;; A stack that accepts a null return stack also accepts a non-null one.
  (type $strict (sub (stack (param i32) (ref $done))))
  (type $lax (sub $strict (stack (param i32) (ref null $done))))
  (func $lax (param i32) (param (ref null $done))
    (switch_retire $done (local.get 0) (local.get 1)))
  (func (export "return stack") (result i32)
    (local $s (ref null $strict))
    (local.set $s (stack.new $lax $lax))
    (switch $strict (i32.const 5) (local.get $s))
    (drop))

  ;; A return stack with a more specific parameter is the supertype, so a stack that receives it is
  ;; the subtype.
  (type $node (sub (stack (param (ref null $a)) (ref null $idle))))
  (type $any (sub $node (stack (param anyref) (ref null $idle))))
  (type $for-any (sub (stack (ref null $any))))
  (type $for-node (sub $for-any (stack (ref null $node))))
  (func $for-node (param $back (ref null $node))
    (switch_retire $node (call $b (i32.const 6)) (local.get $back)))
  (func (export "return stack of a supertype") (result i32)
    (local $s (ref null $for-any))
    (local.set $s (stack.new $for-node $for-node))
    (switch $for-any (local.get $s))
    (drop)
    (struct.get $a 0 (ref.cast (ref $a))))

  ;; `stack.bind` may specialize the remaining parameters.
  (type $two (stack (param i32 (ref $a)) (ref null $done)))
  (type $one (stack (param (ref $b)) (ref $done)))
  (func $two (param i32) (param $a (ref $a)) (param (ref null $done))
    (switch_retire $done
      (i32.add (local.get 0) (struct.get $a 0 (local.get $a))) (local.get 2)))
  (func (export "bind") (result i32)
    (switch $one (call $b (i32.const 3))
      (stack.bind $two $one (i32.const 4) (stack.new $two $two)))
    (drop))

  ;; The payload of an exception may be a subtype.
  (type $w (stack (param i32) (ref null $w)))
  (tag $e (param (ref $a)) (param (ref null $w)))
  (func $waits (param i32) (param $back (ref null $w))
    (local $a (ref null $a))
    (block $h (result (ref $a) (ref null $w))
      (try_table (catch $e $h)
        (switch $w (local.get 0) (local.get $back))
        (unreachable))
      (unreachable))
    (local.set $back)
    (local.set $a)
    (switch_retire $w (struct.get $a 0 (local.get $a)) (local.get $back)))
  (func (export "exception") (result i32)
    (local $s (ref null $w))
    (switch $w (i32.const 0) (stack.new $w $waits))
    (local.set $s)
    (drop)
    (switch_throw $w $e (call $b (i32.const 8)) (local.get $s))
    (drop)))

(assert_return (invoke "stack") (i32.const 1))
(assert_return (invoke "function") (i32.const 2))
(assert_return (invoke "function reference") (i32.const 3))
(assert_return (invoke "value") (i32.const 4))
(assert_return (invoke "return stack") (i32.const 5))
(assert_return (invoke "return stack of a supertype") (i32.const 6))
(assert_return (invoke "bind") (i32.const 7))
(assert_return (invoke "exception") (i32.const 8))

;; The reverse is invalid.
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (sub (stack (param anyref) (ref null $idle))))
    (type $d (sub $c (stack (param eqref) (ref null $idle)))))
  "sub type")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $lax (sub (stack (ref null $idle))))
    (type $strict (sub $lax (stack (ref $idle)))))
  "sub type")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (sub (stack (param i32) (ref null $idle))))
    (type $d (sub $c (stack (param i32 i32) (ref null $idle)))))
  "sub type")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $d (sub $idle (stack (ref null $idle)))))
  "sub type")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (sub (stack (param eqref) (ref null $idle))))
    (type $d (sub $c (stack (param anyref) (ref null $idle))))
    (func (param (ref $c)) (result (ref $d)) (local.get 0)))
  "type mismatch")
;; Subtyping must be declared.
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (stack (param eqref) (ref null $idle)))
    (type $d (stack (param anyref) (ref null $idle)))
    (func (param (ref $d)) (result (ref $c)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (stack (param anyref) (ref null $idle)))
    (func $f (param eqref) (param (ref null $idle)))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $c (stack (param eqref) (ref null $idle)))
    (func (param anyref (ref $c)) (drop (switch $c (local.get 0) (local.get 1)))))
  "type mismatch")
;; `stack.bind` must not generalize the remaining parameters.
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $two (stack (param i32 eqref) (ref null $idle)))
    (type $one (stack (param anyref) (ref null $idle)))
    (func (param (ref $two)) (result (ref $one))
      (stack.bind $two $one (i32.const 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $idle (stack (ref null $idle)))
    (type $two (stack (param i32) (ref $idle)))
    (type $one (stack (ref null $idle)))
    (func (param (ref $two)) (result (ref $one))
      (stack.bind $two $one (i32.const 0) (local.get 0))))
  "type mismatch")
