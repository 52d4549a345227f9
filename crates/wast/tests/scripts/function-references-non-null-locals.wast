;; A non-nullable local can be read after it was set, in the block that set it.

(module
  (type $f (func (result i32)))
  (elem declare func $one $two)
  (func $one (type $f) (i32.const 1))
  (func $two (type $f) (i32.const 2))
  (func (export "set") (result i32)
    (local $f (ref $f))
    (local.set $f (ref.func $one))
    (call_ref $f (local.get $f)))
  (func (export "tee") (result i32)
    (local $f (ref $f))
    (i32.add
      (call_ref $f (local.tee $f (ref.func $two)))
      (call_ref $f (local.get $f))))
  (func (export "blocks") (param i32) (result i32)
    (local $f (ref $f)) (local $sum i32)
    (block
      (local.set $f (ref.func $one))
      (local.set $sum (call_ref $f (local.get $f))))
    (if (local.get 0)
      (then (local.set $f (ref.func $two)) (local.set $sum (call_ref $f (local.get $f))))
      (else (local.set $f (ref.func $one))))
    (local.set $f (ref.func $two))
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (call_ref $f (local.get $f))))
      (local.set $f (ref.func $one))
      (br_if $again (i32.lt_s (local.get $sum) (i32.const 10))))
    (local.get $sum))
  (func (export "many") (result i32)
    (local $a (ref $f)) (local $b (ref $f)) (local $c (ref extern)) (local $d (ref i31))
    (local.set $b (ref.func $two))
    (local.set $d (ref.i31 (i32.const 40)))
    (i32.add (call_ref $f (local.get $b)) (i31.get_u (local.get $d)))))

(assert_return (invoke "set") (i32.const 1))
(assert_return (invoke "tee") (i32.const 4))
(assert_return (invoke "blocks" (i32.const 0)) (i32.const 10))
(assert_return (invoke "blocks" (i32.const 1)) (i32.const 10))
(assert_return (invoke "many") (i32.const 42))

(assert_invalid
  (module (type $f (func)) (func (local $f (ref $f)) (call_ref $f (local.get $f))))
  "uninitialized local")
(assert_invalid
  (module (type $f (func)) (elem declare func 0)
    (func (local $f (ref $f))
      (block (local.set $f (ref.func 0)))
      (call_ref $f (local.get $f))))
  "uninitialized local")
(assert_invalid
  (module (type $f (func)) (elem declare func 0)
    (func (param i32) (local $f (ref func))
      (if (local.get 0) (then (local.set $f (ref.func 0))))
      (drop (local.get $f))))
  "uninitialized local")
