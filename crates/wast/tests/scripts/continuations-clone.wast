;; `cont.clone` creates an independent copy of a continuation; both references work, each once.

(module
  (type $f (func (param i32) (result i32)))
  (type $k (cont $f))
  (type $f0 (func (result i32)))
  (type $k0 (cont $f0))
  (type $box (struct (field (mut i32))))
  (tag $ask (param i32) (result i32))
  (global $kept (mut (ref null $k)) (ref.null $k))
  (elem declare func $twice $counts)

  ;; Suspends twice. Returns 10 * the first value that it receives + the second.
  (func $twice (param i32) (result i32)
    (local $a i32)
    (local.set $a (suspend $ask (local.get 0)))
    (i32.add (i32.mul (local.get $a) (i32.const 10)) (suspend $ask (local.get $a))))
  (func $new (result (ref $k)) (cont.new $k (ref.func $twice)))
  ;; Resumes up to the next suspension.
  (func $begin (param $k (ref null $k)) (param $x i32) (result (ref $k))
    (block $asked (result i32 (ref $k))
      (drop (resume $k (on $ask $asked) (local.get $x) (local.get $k)))
      (unreachable))
    (local.set $k)
    (drop)
    (ref.as_non_null (local.get $k)))
  ;; Resumes every suspension with the same value.
  (func $finish (param $k (ref null $k)) (param $x i32) (result i32)
    (loop $more (result i32)
      (block $asked (result i32 (ref $k))
        (return (resume $k (on $ask $asked) (local.get $x) (local.get $k))))
      (local.set $k)
      (drop)
      (br $more)))

  (func (export "new") (result i32 i32)
    (local $k (ref null $k)) (local $c (ref null $k))
    (local.set $k (call $new))
    (local.set $c (cont.clone $k (local.get $k)))
    (call $finish (local.get $k) (i32.const 1))
    (call $finish (local.get $c) (i32.const 2)))
  (func (export "suspended") (result i32 i32 i32)
    (local $k (ref null $k)) (local $c (ref null $k)) (local $d (ref null $k))
    (local.set $k (call $begin (call $new) (i32.const 7)))
    (local.set $c (cont.clone $k (local.get $k)))
    (local.set $k (call $begin (local.get $k) (i32.const 4)))
    (local.set $d (cont.clone $k (local.get $k)))
    (call $finish (local.get $c) (i32.const 1))
    (call $finish (local.get $k) (i32.const 2))
    (call $finish (local.get $d) (i32.const 3)))
  (func (export "a clone of a clone") (result i32 i32 i32)
    (local $k (ref null $k)) (local $c (ref null $k)) (local $d (ref null $k))
    (local.set $k (call $begin (call $new) (i32.const 7)))
    (local.set $c (cont.clone $k (local.get $k)))
    (local.set $d (cont.clone $k (local.get $c)))
    (call $finish (local.get $d) (i32.const 3))
    (call $finish (local.get $c) (i32.const 2))
    (call $finish (local.get $k) (i32.const 1)))
  (func (export "plain and folded") (result i32 i32)
    (local $c (ref null $k))
    call $new
    cont.clone $k
    local.set $c
    (call $finish (cont.clone $k (local.get $c)) (i32.const 3))
    (call $finish (local.get $c) (i32.const 4)))

  ;; Consuming one reference does not affect the other.
  (func (export "the clone is consumed")
    (local $c (ref null $k))
    (global.set $kept (call $begin (call $new) (i32.const 7)))
    (local.set $c (cont.clone $k (global.get $kept)))
    (drop (call $finish (local.get $c) (i32.const 2)))
    (drop (call $finish (local.get $c) (i32.const 2))))
  (func (export "the original is valid") (result i32) (call $finish (global.get $kept) (i32.const 5)))
  (func (export "the original is consumed") (drop (cont.clone $k (global.get $kept))))
  (func (export "null") (drop (cont.clone $k (ref.null $k))))
  (func (export "consumed by cont.bind")
    (local $k (ref null $k))
    (local.set $k (call $new))
    (drop (cont.bind $k $k0 (i32.const 1) (local.get $k)))
    (drop (cont.clone $k (local.get $k))))
  ;; A trap ends the activation. The original of the clone stays valid.
  (func (export "keep") (global.set $kept (call $begin (call $new) (i32.const 7))))
  (func (export "clone and trap") (drop (cont.clone $k (global.get $kept))) (unreachable))

  ;; Original and clone share objects.
  (func $counts (param i32) (result i32)
    (local $box (ref $box))
    (local.set $box (struct.new $box (local.get 0)))
    (drop (suspend $ask (i32.const 0)))
    (struct.set $box 0 (local.get $box)
      (i32.add (struct.get $box 0 (local.get $box)) (suspend $ask (i32.const 0))))
    (struct.get $box 0 (local.get $box)))
  (func (export "objects are shared") (result i32 i32)
    (local $k (ref null $k)) (local $c (ref null $k))
    (local.set $k (call $begin (cont.new $k (ref.func $counts)) (i32.const 100)))
    (local.set $c (cont.clone $k (local.get $k)))
    ;; The original reads 100 before the clone adds to it. The clone then reads the new value.
    (local.set $k (call $begin (local.get $k) (i32.const 0)))
    (call $finish (local.get $c) (i32.const 10))
    (call $finish (local.get $k) (i32.const 1)))

  ;; Makes many clones of one continuation and resumes each.
  (func (export "many") (param $n i32) (result i32)
    (local $k (ref null $k)) (local $sum i32)
    (local.set $k (call $begin (call $new) (i32.const 7)))
    (loop $more
      (local.set $sum (i32.add (local.get $sum)
        (call $finish (cont.clone $k (local.get $k)) (i32.const 1))))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i32.add (local.get $sum) (call $finish (local.get $k) (i32.const 0))))
  ;; Unreachable clones are garbage.
  (func (export "garbage") (param $n i32) (result i32)
    (local $k (ref null $k))
    (local.set $k (call $begin (call $new) (i32.const 7)))
    (loop $more
      (drop (cont.clone $k (local.get $k)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $finish (local.get $k) (i32.const 6))))

(assert_return (invoke "new") (i32.const 11) (i32.const 22))
(assert_return (invoke "suspended") (i32.const 11) (i32.const 42) (i32.const 43))
(assert_return (invoke "a clone of a clone") (i32.const 33) (i32.const 22) (i32.const 11))
(assert_return (invoke "plain and folded") (i32.const 33) (i32.const 44))
(assert_trap (invoke "the clone is consumed") "continuation already consumed")
(assert_return (invoke "the original is valid") (i32.const 55))
(assert_trap (invoke "the original is consumed") "continuation already consumed")
(assert_trap (invoke "null") "null continuation reference")
(assert_trap (invoke "consumed by cont.bind") "continuation already consumed")
(assert_return (invoke "keep"))
(assert_trap (invoke "clone and trap") "unreachable")
(assert_return (invoke "the original is valid") (i32.const 55))
(assert_return (invoke "objects are shared") (i32.const 110) (i32.const 101))
(assert_return (invoke "many" (i32.const 300)) (i32.const 3300))
(assert_return (invoke "garbage" (i32.const 2000)) (i32.const 66))

;; Errors name the position of the invalid operand.
(assert_invalid
  (module
    (type $f (func)) (type $k (cont $f)) (type $j (cont $g)) (type $g (func (param i32)))
    (func (param (ref null $j)) (drop (cont.clone $k (local.get 0)))))
  "type mismatch")
(assert_invalid
  (module (type $f (func)) (func (param (ref null $f)) (drop (cont.clone $f (local.get 0)))))
  "expected a continuation type, but `$f` is a function type")
(assert_invalid
  (module (type $c (stack (ref null $c)))
    (func (param (ref null $c)) (drop (cont.clone $c (local.get 0)))))
  "expected a continuation type, but `$c` is a stack type")
(assert_invalid
  (module (type $f (func)) (type $k (cont $f))
    (global (ref null $k) (cont.clone $k (ref.null $k))))
  "constant expression required")
(assert_malformed
  (module quote "(type $f (func)) (type $k (cont $f)) (func (cont.clone (ref.null $k)))")
  "expects the name of a continuation type")
(assert_malformed
  (module quote "(type $f (func)) (type $k (cont $f)) (func (drop (cont.clone 1 (ref.null $k))))")
  "expected a name, found the number 1")
(assert_malformed
  (module quote "(func (drop (cont.clone $k (ref.null cont))))")
  "unknown type")
