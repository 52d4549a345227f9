;; Validation rejects modules that break a condition of an instruction or of a stack type.

;; ---- Types.

(assert_invalid (module (type $c (stack))) "")
(assert_invalid (module (type $c (stack (param i32)))) "")
(assert_invalid (module (type $c (stack (param i32) (param i64)))) "")
(assert_invalid (module (type $c (stack (param (ref null stack))))) "")
(assert_invalid (module (type $c (stack (param funcref)))) "")
(assert_invalid (module (type $f (func)) (type $c (stack (ref null $f)))) "")
(assert_invalid (module (type $t (task)) (type $c (stack (ref null $t)))) "")
(assert_invalid (module (type $f (func)) (type $k (cont $f)) (type $c (stack (ref null $k)))) "")
;; The types form one recursive group.
(assert_invalid
  (module
    (type $c (stack (ref null $d)))
    (type $d (stack (ref null $c))))
  "unknown type")

;; ---- stack.new.

(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $f (param i64) (param (ref null $c)))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $f (param (ref null $c)))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $f (param i32))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $f (param (ref $c)))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $f (param (ref null $c)) (result i32) (i32.const 0))
    (func (drop (stack.new $c $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $g (func (param i32)))
    (func $f (param i32))
    (func (drop (stack.new $g $f))))
  "")

;; ---- stack.new_ref.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $ft (func (param i32)))
    (func (drop (stack.new_ref $c $ft (ref.null $ft)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $ft (func (param (ref null $c))))
    (func (param funcref) (drop (stack.new_ref $c $ft (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $ft (func (param (ref null $c)) (result i32)))
    (func (drop (stack.new_ref $c $ft (ref.null $ft)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (drop (stack.new_ref $c $c (ref.null $c)))))
  "")

;; ---- switch.

(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (drop (switch $c (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (switch $c (i64.const 0) (local.get 0)) (drop) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (switch $c (local.get 0) (i32.const 0)) (drop) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (drop (switch $c (i32.const 0) (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func))
    (func (param (ref null $f)) (drop (switch $f (local.get 0)))))
  "")
;; Two immediates select the standard `switch` on continuations.
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e)
    (func (param (ref null $c)) (drop (switch $c $e (local.get 0)))))
  "")

;; ---- switch_retire.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $strict (stack (ref $c)))
    (func (param (ref null $strict)) (switch_retire $strict (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (switch_retire $c (local.get 0))))
  "type mismatch")

;; ---- stack.bind.

(assert_invalid
  (module
    (type $c (stack (param i32 i64) (ref null $c)))
    (type $d (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (drop (stack.bind $c $d (i32.const 0) (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (type $d (stack (param i32 i32) (ref null $c)))
    (func (param (ref null $c)) (drop (stack.bind $c $d (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $e (stack (ref null $e)))
    (type $c (stack (param i32) (ref null $c)))
    (type $d (stack (ref null $e)))
    (func (param (ref null $c)) (drop (stack.bind $c $d (i32.const 0) (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (type $d (stack (ref null $c)))
    (func (param (ref null $c)) (drop (stack.bind $c $d (local.get 0)))))
  "type mismatch")
;; The last component cannot be bound.
(assert_invalid
  (module
    (type $c (stack (param i32 i64) (ref null $c)))
    (type $d (stack (param i32) (ref null $c)))
    (func (param (ref null $c)) (drop (stack.bind $c $d (i64.const 0) (local.get 0)))))
  "type mismatch")

;; ---- switch_throw.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e)
    (func (param (ref null $c)) (drop (switch_throw $c $e (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e (param (ref null $c) i32))
    (func (param (ref null $c)) (drop (switch_throw $c $e (i32.const 0) (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $d (stack (param i32) (ref null $d)))
    (tag $e (param (ref null $d)))
    (func (param (ref null $c)) (drop (switch_throw $c $e (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e (param (ref null $c)) (result i32))
    (func (param (ref null $c)) (drop (switch_throw $c $e (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e (param i32) (param (ref null $c)))
    (func (param (ref null $c)) (drop (switch_throw $c $e (i64.const 0) (local.get 0)))))
  "type mismatch")

;; ---- return_switch.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $then (param (ref null $c)) (result i32) (i32.const 0))
    (func (param (ref null $c)) (return_switch $c $then (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $then (param (ref null $c)))
    (func (param (ref null $c)) (result i32) (return_switch $c $then (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (param i32) (ref null $c)))
    (func $then (param (ref null $c)))
    (func (param (ref null $c)) (return_switch $c $then (i32.const 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $then (param (ref $c)))
    (func (param (ref null $c)) (return_switch $c $then (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e)
    (func $then (param (ref null $c)))
    (func (param (ref null $c)) (return_switch_throw $c $e $then (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (tag $e (param (ref null $c)))
    (func $then (param i32))
    (func (param (ref null $c)) (return_switch_throw $c $e $then (local.get 0))))
  "type mismatch")

;; ---- Constant expressions.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func $f (param (ref null $c)))
    (global (ref null $c) (stack.new $c $f)))
  "constant expression required")
;; A non-nullable reference has no default.
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (local $c (ref $c)) (drop (local.get $c))))
  "uninitialized local")
(assert_invalid (module (type $c (stack (ref null $c))) (table 1 (ref $c))) "type mismatch")
