;; Validation rejects modules that break a condition of an instruction or of a task type.

;; ---- Task types are final and have no supertypes.

(assert_invalid (module (type $t (sub (task)))) "")
(assert_invalid
  (module (type $t (task)) (type $u (sub $t (task))))
  "sub type")
(assert_invalid
  (module
    (type $t (task (result anyref)))
    (type $u (task (result eqref)))
    (func (param (ref null $u)) (result (ref null $t)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param eqref)))
    (type $u (task (param anyref)))
    (func (param (ref null $u)) (result (ref null $t)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param (ref null $u))))
    (type $u (task (param (ref null $t)))))
  "unknown type")

;; ---- task.new.

(assert_invalid
  (module
    (type $t (task))
    (func $f)
    (func (drop (task.new $t $f))))
  "")
(assert_invalid
  (module
    (type $t (task))
    (func $f (param (ref null $t)) (result i32) (i32.const 0))
    (func (drop (task.new $t $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32)))
    (func $f (param (ref null $t)))
    (func (drop (task.new $t $f))))
  "")
(assert_invalid
  (module
    (type $t (task (param i32)))
    (func $f (param i32) (param (ref null $t)))
    (func (drop (task.new $t $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32)))
    (func $f (param (ref null $t) i64))
    (func (drop (task.new $t $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (result i32)))
    (func $f (param (ref null $t)))
    (func (drop (task.new $t $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (type $u (task))
    (type $v (task (param i32)))
    (func $f (param (ref null $v)))
    (func (drop (task.new $t $f))))
  "type mismatch")
;; The arguments of task.new.
(assert_invalid
  (module
    (type $t (task))
    (func $f (param (ref null $t) i32))
    (func (drop (task.new $t $f))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func $f (param (ref null $t) i32))
    (func (drop (task.new $t $f (i64.const 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32)))
    (func $f (param (ref null $t) i32 i64))
    (func (drop (task.new $t $f (i32.const 0) (i64.const 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $g (func))
    (func $f)
    (func (drop (task.new $g $f))))
  "")

;; ---- The other instructions.

(assert_invalid
  (module
    (type $t (task (param i32)))
    (func (param (ref null $t)) (task.resume $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32)))
    (func (param (ref null $t)) (task.resume $t (i32.const 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (result i32)))
    (func (param (ref null $t)) (task.resume $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32) (result i64)))
    (func (param (ref null $t)) (drop (task.suspend $t (local.get 0) (i32.const 0)))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i32) (result i64)))
    (func (param (ref null $t)) (result i64) (task.suspend $t (local.get 0) (i64.const 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (result i64)))
    (func (param (ref null $t)) (task.retire $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (result i64)))
    (func (param (ref null $t)) (task.retire $t (i64.const 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task))
    (func (param (ref null $t)) (result i32) (task.release $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task)) (type $u (task (param i32)))
    (func (param (ref null $u)) (task.release $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $f (func))
    (func (param (ref null $f)) (task.release $f (local.get 0))))
  "")

;; ---- task.switchto.

(assert_invalid
  (module
    (type $t (task (result i32))) (type $u (task (result i64)))
    (func (param (ref null $t) (ref null $u))
      (task.switchto $t $u (local.get 0) (local.get 1))))
  "")
(assert_invalid
  (module
    (type $t (task (result i32))) (type $u (task (result i32 i32)))
    (func (param (ref null $t) (ref null $u))
      (task.switchto $t $u (local.get 0) (local.get 1))))
  "")
;; The reverse would be valid.
(assert_invalid
  (module
    (type $t (task (result eqref))) (type $u (task (result anyref)))
    (func (param (ref null $t) (ref null $u))
      (task.switchto $t $u (local.get 0) (local.get 1))))
  "")
(assert_invalid
  (module
    (type $t (task)) (type $u (task (param i32)))
    (func (param (ref null $t) (ref null $u))
      (task.switchto $t $u (local.get 1) (local.get 0) (i32.const 0))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task)) (type $u (task (param i32)))
    (func (param (ref null $t) (ref null $u))
      (task.switchto $t $u (local.get 0) (local.get 1))))
  "type mismatch")
(assert_invalid
  (module
    (type $t (task (param i64))) (type $u (task (param i32)))
    (func (param (ref null $t) (ref null $u)) (result i32)
      (task.switchto $t $u (local.get 0) (local.get 1) (i32.const 0))))
  "type mismatch")

;; ---- Constant expressions and defaults.

(assert_invalid
  (module
    (type $t (task))
    (func $f (param (ref null $t)))
    (global (ref null $t) (task.new $t $f)))
  "constant expression required")
(assert_invalid
  (module (type $t (task)) (func (local $t (ref $t)) (drop (local.get $t))))
  "uninitialized local")
