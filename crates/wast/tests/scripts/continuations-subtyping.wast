;; Continuations, payloads and results accept subtypes.
;; Abstract types hold continuations of any type.

(module
  (type $a (sub (struct (field i32))))
  (type $b (sub $a (struct (field i32) (field i32))))
  (type $fa (sub (func (param (ref $b)) (result (ref $a)))))
  (type $fb (sub $fa (func (param (ref $a)) (result (ref $b)))))
  (type $ka (sub (cont $fa)))
  (type $kb (sub $ka (cont $fb)))
  (tag $e (param (ref $b)) (result (ref $b)))
  (elem declare func $body $suspends)
  (func $body (type $fb)
    (struct.new $b (struct.get $a 0 (local.get 0)) (i32.const 2)))
  (func $b (param i32) (result (ref $b)) (struct.new $b (local.get 0) (i32.const 0)))

  ;; `resume` names the supertype; the operand is a continuation of the subtype.
  (func (export "continuation") (result i32)
    (local $k (ref null $ka))
    (local.set $k (cont.new $kb (ref.func $body)))
    (struct.get $b 1 (ref.cast (ref $b)
      (resume $ka (call $b (i32.const 1)) (local.get $k)))))
  ;; A function of a subtype is the body of a continuation of the supertype.
  (func (export "function") (result i32)
    (struct.get $a 0
      (resume $ka (call $b (i32.const 3)) (cont.new $ka (ref.func $body)))))

  ;; The label of a clause takes supertypes of the payload, and a continuation with fewer parameters
  ;; and more general results.
  (type $less (func (param (ref $b)) (result (ref $a))))
  (type $kless (cont $less))
  (type $start (func (result (ref $b))))
  (type $kstart (cont $start))
  (func $suspends (result (ref $b)) (suspend $e (call $b (i32.const 5))))
  (func (export "label") (result i32 i32)
    (local $k (ref null $kless)) (local $p (ref null $a))
    (block $h (result (ref null $a) (ref null $kless))
      (struct.get $b 0 (resume $kstart (on $e $h) (cont.new $kstart (ref.func $suspends))))
      (i32.const -1)
      (return))
    (local.set $k)
    (local.set $p)
    (struct.get $a 0 (local.get $p))
    (struct.get $a 0 (resume $kless (call $b (i32.const 6)) (local.get $k))))

  ;; `cont.bind` may generalize the remaining type.
  (type $two (func (param i32 (ref $a)) (result (ref $b))))
  (type $ktwo (cont $two))
  (elem declare func $two)
  (func $two (type $two)
    (struct.new $b (local.get 0) (struct.get $a 0 (local.get 1))))
  (func (export "bind") (result i32)
    (struct.get $b 1 (ref.cast (ref $b)
      (resume $kless (call $b (i32.const 8))
        (cont.bind $ktwo $kless (i32.const 7) (cont.new $ktwo (ref.func $two)))))))

  (global $any (mut (ref null cont)) (ref.null cont))
  (table $t 2 (ref null cont))
  (func (export "abstract") (result i32 i32 i32)
    (global.set $any (cont.new $kb (ref.func $body)))
    (table.set $t (i32.const 1) (cont.new $ktwo (ref.func $two)))
    (ref.is_null (global.get $any))
    (ref.is_null (table.get $t (i32.const 1)))
    (ref.is_null (table.get $t (i32.const 0)))))

(assert_return (invoke "continuation") (i32.const 2))
(assert_return (invoke "function") (i32.const 3))
(assert_return (invoke "label") (i32.const 5) (i32.const 6))
(assert_return (invoke "bind") (i32.const 8))
(assert_return (invoke "abstract") (i32.const 0) (i32.const 0) (i32.const 1))

;; The reverse is invalid.
(assert_invalid
  (module
    (type $fa (sub (func)))
    (type $fb (sub $fa (func)))
    (type $ka (sub (cont $fa)))
    (type $kb (sub $ka (cont $fb)))
    (func (param (ref $ka)) (resume $kb (local.get 0))))
  "type mismatch")
;; References to continuations cannot be compared or cast.
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (func (param (ref null $k)) (result i32) (ref.eq (local.get 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (func (param (ref null cont)) (result (ref $k)) (ref.cast (ref $k) (local.get 0))))
  "invalid cast")
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (func (param (ref null cont)) (result i32) (ref.test (ref $k) (local.get 0))))
  "invalid cast")
