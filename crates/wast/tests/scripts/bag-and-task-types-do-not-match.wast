;; References to stacks, tasks, fibers and continuations never match each other.

(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $c))))
    (func (param (ref null $t)) (result (ref null $c)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param (ref null $t))))
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result (ref null $t)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param (ref null $t))))
    (type $c (stack (ref null $c)))
    (func (param (ref null $t)) (drop (switch $c (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
    (type $c (stack (ref null $c)))
    (func (param (ref null $k)) (drop (switch $c (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (resume $k (ref.null $k) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (type $t (task))
    (func (param (ref null $t)) (resume $k (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (type $t (task))
    (func (param (ref null $k)) (task.resume $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (task.release $c (local.get 0))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result fiberref) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result stackref) (local.get 0)))
  "type mismatch")

;; The top and bottom types.
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (func (param (ref null $k)) (result (ref null stack)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result (ref null cont)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module (func (param (ref null stack)) (result (ref null cont)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module (func (param (ref null cont)) (result (ref null stack)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result (ref null stack)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result (ref null cont)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (result (ref null $c)) (ref.null nocont)))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f))
    (func (result (ref null $k)) (ref.null nostack)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result anyref) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result funcref) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (drop (switch $c (local.get 0)))))
  "type mismatch")

;; Positions other than results.
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (global (mut (ref null $c)) (ref.null $t)))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (table $x 1 (ref null $c))
    (func (param (ref null $t)) (table.set $x (i32.const 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (type $s (struct (field (ref null $t))))
    (func (param (ref null $c)) (drop (struct.new $s (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (tag $x (param (ref null $t)))
    (func (param (ref null $c)) (throw $x (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (func $f (param (ref null $t)))
    (func (param (ref null $c)) (call $f (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (func (param (ref null $c)) (result (ref null $t))
      (block $b (result (ref null $t)) (br $b (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (type $t (task (param (ref null $t))))
    (func $f (param (ref null $t)))
    (func (drop (stack.new $c $f))))
  "type mismatch")
;; A supertype of another kind.
(assert_invalid
  (module
    (rec (type $f (sub (func (param (ref null $k))))) (type $k (sub (cont $f))))
    (type $c (sub $k (stack (ref null $c)))))
  "sub type")
(assert_invalid
  (module
    (type $c (sub (stack (ref null $c))))
    (type $t (sub $c (task (param (ref null $c))))))
  "sub type")

;; None of them can be compared, cast or tested.
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result i32) (ref.eq (local.get 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result i32) (ref.eq (local.get 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (result (ref $c)) (ref.cast (ref $c) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (result (ref null $c)) (ref.cast (ref null $c) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (result i32) (ref.test (ref $c) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (result i32) (ref.test (ref null nostack) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (result (ref null stack))
      (block $b (result (ref null stack))
        (br_on_cast $b (ref null stack) (ref $c) (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $c (stack (ref null $c)))
    (func (param (ref null stack)) (result (ref null stack))
      (block $b (result (ref null stack))
        (br_on_cast_fail $b (ref null stack) (ref $c) (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result (ref $t)) (ref.cast (ref $t) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result i32) (ref.test (ref $t) (local.get 0))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result (ref null $t))
      (block $b (result (ref null $t))
        (br_on_cast $b (ref null $t) (ref $t) (local.get 0)))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result externref) (extern.convert_any (local.get 0))))
  "type mismatch")
