;; Tags are compared by identity, not by structure.
;; Each instance has its own tags unless it imports them.

(module definition $M
  (tag $t (export "tag") (param i32))
  (func (export "throw") (param i32) (throw $t (local.get 0))))
(module instance $one $M)
(module instance $two $M)
(register "one" $one)
(register "two" $two)

;; Reexports an imported tag under another name.
(module $between
  (import "one" "tag" (tag $t (param i32)))
  (export "again" (tag $t)))
(register "between" $between)

(module
  (import "one" "tag" (tag $one (param i32)))
  (import "two" "tag" (tag $two (param i32)))
  (import "between" "again" (tag $again (param i32)))
  (import "one" "throw" (func $throw1 (param i32)))
  (import "two" "throw" (func $throw2 (param i32)))
  (tag $own (param i32))
  (tag $own2 (param i32))

  (func $throw (param i32)
    (if (i32.eq (local.get 0) (i32.const 1)) (then (call $throw1 (i32.const 10))))
    (if (i32.eq (local.get 0) (i32.const 2)) (then (call $throw2 (i32.const 20))))
    (if (i32.eq (local.get 0) (i32.const 3)) (then (throw $own (i32.const 30))))
    (if (i32.eq (local.get 0) (i32.const 4)) (then (throw $again (i32.const 40))))
    (throw $own2 (i32.const 50)))

  (func (export "who") (param i32) (result i32 i32)
    (block $4 (result i32) (block $3 (result i32) (block $2 (result i32) (block $1 (result i32)
      (try_table (catch $own $3) (catch $two $2) (catch $one $1) (catch $own2 $4)
        (call $throw (local.get 0)))
      (unreachable))
      (i32.const 1) (return))
      (i32.const 2) (return))
      (i32.const 3) (return))
    (i32.const 4))

  (func (export "by its other name") (result i32)
    (block $h (result i32)
      (try_table (catch $own $h) (catch $two $h) (catch $again $h)
        (call $throw1 (i32.const 7)))
      (unreachable)))
  (func (export "not by another tag") (result i32)
    (block $h (result i32)
      (try_table (catch $own $h) (catch $two $h) (catch $own2 $h)
        (call $throw1 (i32.const 7)))
      (unreachable))))

(assert_return (invoke "who" (i32.const 1)) (i32.const 10) (i32.const 1))
(assert_return (invoke "who" (i32.const 2)) (i32.const 20) (i32.const 2))
(assert_return (invoke "who" (i32.const 3)) (i32.const 30) (i32.const 3))
(assert_return (invoke "who" (i32.const 4)) (i32.const 40) (i32.const 1))
(assert_return (invoke "who" (i32.const 5)) (i32.const 50) (i32.const 4))
(assert_return (invoke "by its other name") (i32.const 7))
(assert_exception (invoke "not by another tag"))

;; The same code in different instances catches different tags.
(module definition $N
  (import "spectest" "table" (table 10 funcref))
  (tag $t (export "t"))
  (func $throw (export "throw") (throw $t))
  (func (export "put") (param i32) (table.set (local.get 0) (ref.func $throw)))
  (func (export "catches") (param i32) (result i32)
    (block $t
      (try_table (catch $t $t) (call_indirect (local.get 0)))
      (unreachable))
    (i32.const 1)))
(module instance $a $N)
(module instance $b $N)
(assert_return (invoke $a "put" (i32.const 0)))
(assert_return (invoke $b "put" (i32.const 1)))
(assert_return (invoke $a "catches" (i32.const 0)) (i32.const 1))
(assert_exception (invoke $a "catches" (i32.const 1)))
(assert_exception (invoke $b "catches" (i32.const 0)))
(assert_return (invoke $b "catches" (i32.const 1)) (i32.const 1))

;; The type of an imported tag must match exactly.
(assert_unlinkable (module (import "one" "tag" (tag (param i64)))) "incompatible import type")
(assert_unlinkable (module (import "one" "tag" (tag))) "incompatible import type")
(assert_unlinkable (module (import "one" "tag" (func (param i32)))) "incompatible import type")
(assert_unlinkable (module (import "one" "tug" (tag (param i32)))) "unknown import")
