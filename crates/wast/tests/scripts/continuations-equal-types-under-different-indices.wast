;; Structurally equal types are the same type, whatever their indices, in one module or across
;; modules.

(module $a
  (type $f (func (param i32 i64) (result i32)))
  (type $pad (func (param f32)))
  (type $g (func (param i32 i64) (result i32)))
  (type $kf (cont $f))
  (type $kg (cont $g))
  (type $r1 (func (param i64) (result i32)))
  (type $k1 (cont $r1))
  (type $r2 (func (param i64) (result i32)))
  (type $k2 (cont $r2))
  (type $n (func (result i32)))
  (type $kn (cont $n))
  (elem declare func $f)
  (func $f (export "f") (type $f)
    (i32.add (i32.mul (local.get 0) (i32.const 10)) (i32.wrap_i64 (local.get 1))))
  (func (export "new") (result (ref $kg)) (cont.new $kg (ref.func $f)))
  (func (export "resume") (result i32 i32)
    (resume $kg (i32.const 1) (i64.const 2) (cont.new $kf (ref.func $f)))
    (resume $kf (i32.const 3) (i64.const 4) (cont.new $kg (ref.func $f))))
  (func (export "bind") (result i32 i32 i32)
    (resume $k2 (i64.const 2)
      (cont.bind $kf $k1 (i32.const 1) (cont.new $kg (ref.func $f))))
    (resume $k1 (i64.const 2)
      (cont.bind $kg $k2 (i32.const 3) (cont.new $kf (ref.func $f))))
    (resume $kn
      (cont.bind $k1 $kn (i64.const 4)
        (cont.bind $kg $k2 (i32.const 3) (cont.new $kf (ref.func $f)))))))
(register "a" $a)
(assert_return (invoke "resume") (i32.const 12) (i32.const 34))
(assert_return (invoke "bind") (i32.const 12) (i32.const 32) (i32.const 34))

;; The same types, in another order and with others in between.
(module
  (type $n (func (result i32)))
  (type $other (struct (field i64)))
  (type $r (func (param i64) (result i32)))
  (type $kr (cont $r))
  (type $kn (cont $n))
  (type $f (func (param i32 i64) (result i32)))
  (type $k (cont $f))
  (func $new (import "a" "new") (result (ref $k)))
  (func (export "resume") (result i32)
    (resume $k (i32.const 5) (i64.const 6) (call $new)))
  (func (export "bind") (result i32)
    (resume $kn
      (cont.bind $kr $kn (i64.const 8) (cont.bind $k $kr (i32.const 7) (call $new))))))
(assert_return (invoke "resume") (i32.const 56))
(assert_return (invoke "bind") (i32.const 78))

;; `switch` passes a reference of a recursive type, which is declared twice in one module and once
;; in another.
(module $s
  (rec (type $f (func (param (ref null $k)) (result i32))) (type $k (cont $f)))
  (rec (type $g (func (param (ref null $l)) (result i32))) (type $l (cont $g)))
  (tag $swap (export "swap") (result i32))
  (elem declare func $ping $pong)
  (global $log (mut i32) (i32.const 0))
  (func $log (param i32)
    (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0))))
  (func $ping (type $f)
    (call $log (i32.const 1))
    (local.set 0 (switch $l $swap (cont.new $k (ref.func $pong))))
    (call $log (i32.const 3))
    (i32.const 7))
  (func $pong (export "pong") (type $g)
    (call $log (i32.const 2))
    (switch $k $swap (local.get 0))
    (unreachable))
  (func (export "run") (result i32 i32)
    (resume $l (on $swap switch) (ref.null $k) (cont.new $k (ref.func $ping)))
    (global.get $log)))
(register "s" $s)
(assert_return (invoke "run") (i32.const 7) (i32.const 123))

(module
  (type $pad (func (param i64 i64)))
  (rec (type $f (func (param (ref null $k)) (result i32))) (type $k (cont $f)))
  (tag $swap (import "s" "swap") (result i32))
  (func $pong (import "s" "pong") (type $f))
  (elem declare func $pong $ping)
  (func $ping (type $f)
    (switch $k $swap (cont.new $k (ref.func $pong)))
    (drop)
    (i32.const 9))
  (func (export "run") (result i32)
    (resume $k (on $swap switch) (ref.null $k) (cont.new $k (ref.func $ping)))))
(assert_return (invoke "run") (i32.const 9))

;; Recursive groups that differ in structure define different types.
(assert_invalid
  (module
    (rec (type $f (func (result i32))) (type $pad (func)))
    (type $g (func (result i32)))
    (type $kf (cont $f))
    (type $kg (cont $g))
    (func (param (ref $kf)) (result i32) (resume $kg (local.get 0))))
  "type mismatch")
(assert_unlinkable
  (module
    (rec (type $f (func (param i32 i64) (result i32))) (type $pad (func)))
    (type $k (cont $f))
    (func (import "a" "new") (result (ref $k))))
  "incompatible import type")
