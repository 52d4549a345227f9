;; Bag of stacks: invalid types and instructions.

;; The last component names a stack type.
(assert_invalid (module (type $c (stack))) "")
(assert_invalid (module (type $c (stack (ref null stack)))) "")
(assert_invalid (module (type $f (func)) (type $c (stack (ref $f)))) "")
(assert_invalid (module (type $f (func)) (type $k (cont $f)) (type $c (stack (ref $k)))) "")

;; Parameters are contravariant, including the last one.
(module
  (type $d (stack (ref null $d)))
  (type $a (sub (stack (param (ref $d)) (ref $d))))
  (type $b (sub $a (stack (param (ref null stack)) (ref null $d)))))
(assert_invalid
  (module
    (type $d (stack (ref null $d)))
    (type $a (sub (stack (param (ref null stack)) (ref $d))))
    (type $b (sub $a (stack (param (ref $d)) (ref $d)))))
  "sub type")

;; Functions are compared by structure.
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $f (param i32 (ref $c)))
    (func (drop (stack.new $c $f))))
  "does not fit")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $f (param i32 (ref null $c)) (result i32) unreachable)
    (func (drop (stack.new $c $f))))
  "does not fit")

;; `switch_retire` requires a target with a nullable return stack.
(assert_invalid
  (module (type $c (stack (ref $c))) (func (param (ref $c)) (switch_retire $c (local.get 0))))
  "never null")

;; Stacks and continuations are different kinds.
(assert_invalid (module (func (param (ref null stack)) (result contref) (local.get 0))) "kinds")
(assert_invalid (module (func (param contref) (result (ref null stack)) (local.get 0))) "kinds")
(assert_invalid (module (func (param (ref stack)) (result funcref) (local.get 0))) "type mismatch")
(assert_invalid
  (module (type $c (stack (ref $c))) (func (param (ref $c) (ref $c)) (resume $c (local.get 0) (local.get 1))))
  "kinds")

;; Names must be known, and indices are not allowed.
(assert_malformed (module (type $c (stack (ref $c))) (func (switch $d))) "unknown type")
(assert_malformed (module (type $c (stack (ref $c))) (func $f (call 0))) "expected a name")
