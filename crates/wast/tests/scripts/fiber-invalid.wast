;; Validation rejects wrong types, unknown names, and indices instead of names.

;; These definitions are valid and shared by all modules below.
(module
  (tag $e) (tag $n (param i32)) (tag $r (result i32))
  (func $f (param fiberref)) (func $g (param i32 fiberref))
  (func $h (param fiberref i32))
  (func (drop (fiber.new (on $n $h)))))

;; fiber.new: the functions of the clauses.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $n $f)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $e $h)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $bad (param fiberref i64)) (func (drop (fiber.new (on $n $bad)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $bad) (func (drop (fiber.new (on $e $bad)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $bad (param i32)) (func (drop (fiber.new (on $e $bad)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $bad (param stackref)) (func (drop (fiber.new (on $e $bad)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $bad (param (ref null cont))) (func (drop (fiber.new (on $e $bad)))))
  "type mismatch")

;; The functions of the clauses must agree on the closure's types.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $e $f) (on $e $g)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $i (param i64 fiberref))
    (func (drop (fiber.new (on $e $g) (on $e $i) (i32.const 1)))))
  "type mismatch")

;; They must agree with the return event.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new $n (on $e $f)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $i (param fiberref) (result i64)) (func (drop (fiber.new $n (on $e $i)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func $i (param fiberref) (result i32)) (func (drop (fiber.new $e (on $e $i)))))
  "type mismatch")

;; fiber.new: the operands.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $e $g)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $e $g) (i64.const 1)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (result i32) (fiber.new (on $e $f))))
  "type mismatch")

;; fiber.mount: the operands.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $e)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $n (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $n (i64.const 1) (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $n (fiber.new) (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $e (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param funcref) (fiber.mount $e (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param (ref null stack)) (fiber.mount $e (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (result i32) (fiber.mount $e (fiber.new))))
  "type mismatch")

;; fiber.mount: the labels.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (result i32) (fiber.mount $e (on $e $l) (fiber.new)) (i32.const 1)) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (fiber.mount $e (on $n $l) (fiber.new)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (result i64) (fiber.mount $e (on $n $l) (fiber.new)) (unreachable)) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (result fiberref i32) (fiber.mount $e (on $n $l) (fiber.new)) (unreachable))
      (drop) (drop)))
  "type mismatch")

;; fiber.switch.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.switch $e (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.switch $n (fiber.new) (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.switch $n (fiber.new) (i32.const 1) (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (fiber.switch $e (on $n $l) (fiber.new) (fiber.new)))))
  "type mismatch")

;; fiber.dismount.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.dismount $e)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.dismount $n (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (fiber.dismount $e (on $n $l) (fiber.new)))))
  "type mismatch")

;; fiber.release.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.release)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.release (i32.const 1))))
  "type mismatch")

;; fiber.mount_new.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.mount_new $n $f))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.mount_new $e $h (ref.null fiber)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.mount_new $e $g))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount_new $e $f)))
  "type mismatch")

;; Labels of fiber.mount_new take the fiber first.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (drop (fiber.mount_new $e $f (on $e $l))))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (result i32) (drop (fiber.mount_new $e $f (on $n $l))) (unreachable)) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func
      (block $l (result i32 (ref fiber))
        (drop (fiber.mount_new $e $f (on $n $l)))
        (unreachable))
      (drop) (drop)))
  "type mismatch")

;; fiber.switch_new.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.switch_new $e $f))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.switch_new $e $g (fiber.new) (i32.const 1)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.switch_new $n $f (fiber.new)))))
  "type mismatch")

;; The releasing forms have no clauses, and need their operands.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.dismount_release $e)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.switch_release $e (fiber.new))))
  "type mismatch")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (block $l (fiber.dismount_release $e (on $e $l) (fiber.new))))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (block $l (fiber.switch_release $e (on $e $l) (fiber.new) (fiber.new))))")
  "unexpected token")

;; Events have no results.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.mount $r (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.switch $r (fiber.new) (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.dismount $r (fiber.new))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new (on $r $f)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.new $r (on $e $f)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (block $l (fiber.mount $e (on $r $l) (fiber.new)))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (drop (fiber.mount_new $r $f))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (fiber.dismount_release $r (fiber.new))))
  "type mismatch")

;; Fibers cannot be compared, cast or tested, and are not references of another kind.
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result i32) (ref.eq (local.get 0) (local.get 0))))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result i32) (ref.test (ref fiber) (local.get 0))))
  "invalid cast")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result (ref fiber)) (ref.cast (ref fiber) (local.get 0))))
  "invalid cast")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result anyref) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result funcref) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result (ref null stack)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (param fiberref) (result (ref fiber)) (local.get 0)))
  "type mismatch")
(assert_invalid
  (module
    (tag $e) (tag $n (param i32)) (tag $r (result i32))
    (func $f (param fiberref)) (func $g (param i32 fiberref))
    (func $h (param fiberref i32))
    (func (local (ref fiber)) (drop (local.get 0))))
  "uninitialized local")

;; Unknown names.
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new (on $e $unknown))))")
  "unknown func")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new (on $unknown $f))))")
  "unknown tag")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new $unknown (on $e $f))))")
  "unknown tag")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount $unknown (fiber.new)))")
  "unknown tag")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount $e (on $e $unknown) (fiber.new)))")
  "unknown label")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (block $l (fiber.mount $e (on $unknown $l) (fiber.new))))")
  "unknown tag")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.mount_new $e $unknown)))")
  "unknown func")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.unknown (fiber.new)))")
  "unknown operator")

;; Missing words.
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount (fiber.new)))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.mount_new $e)))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount $e (on $e) (fiber.new)))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount $e (on $e switch) (fiber.new)))")
  "unexpected token")

;; Indices.
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount 0 (fiber.new)))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (fiber.mount $e (on 0 $l) (fiber.new)))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (block (fiber.mount $e (on $e 0) (fiber.new))))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new (on $e 0))))")
  "unexpected token")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new 0 (on $e $f))))")
  "unexpected token")

;; Indices to other items of such a module.
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (call 0 (fiber.new)))")
  "index")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new)) (throw 0))")
  "index")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(func (drop (fiber.new)) (block (br 0)))")
  "index")
(assert_malformed
  (module quote
    "(tag $e) (tag $n (param i32)) (tag $r (result i32))"
    "(func $f (param fiberref)) (func $g (param i32 fiberref))"
    "(func $h (param fiberref i32))"
    "(type $t (func)) (func (type 0) (drop (fiber.new)))")
  "index")
