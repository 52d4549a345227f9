;; A suspension to an outer handler captures all stacks up to it.
;; They stay together when they are resumed elsewhere.

(module
  (type $f (func (result i32)))
  (type $k (cont $f))
  (type $n (func (param i32) (result i32)))
  (type $kn (cont $n))
  (type $s (struct (field i32)))
  (tag $outer (param i32) (result i32))
  (tag $inner (result i32))
  (elem declare func $level)
  (global $asks-inner (mut i32) (i32.const 0))

  ;; n nested stacks. Each adds a number from a struct in its frame to the result of the next, and
  ;; has a handler for $inner.
  (func $level (param $n i32) (result i32)
    (local $s (ref $s))
    (local.set $s (struct.new $s (local.get $n)))
    (if (i32.eqz (local.get $n)) (then (return (call $asks))))
    (block $h (result (ref $kn))
      (return (i32.add
        (resume $kn (on $inner $h)
          (i32.sub (local.get $n) (i32.const 1)) (cont.new $kn (ref.func $level)))
        (struct.get $s 0 (local.get $s)))))
    ;; The innermost level suspends with $inner, and receives 1000 times this level's number.
    (i32.add
      (call $reply (i32.mul (local.get $n) (i32.const 1000)))
      (struct.get $s 0 (local.get $s))))
  (func $reply (param (ref $kn) i32) (result i32)
    (resume $kn (local.get 1) (local.get 0)))
  (func $asks (result i32)
    (i32.add
      (suspend $outer (i32.const 1))
      (if (result i32) (global.get $asks-inner)
        (then (suspend $inner))
        (else (suspend $outer (i32.const 2))))))

  (global $k (mut (ref null $kn)) (ref.null $kn))
  (func (export "start") (param $n i32) (result i32)
    (block $h (result i32 (ref $kn))
      (return (resume $kn (on $outer $h) (local.get $n) (cont.new $kn (ref.func $level)))))
    (global.set $k))
  (func $continue (export "continue") (param $i i32) (result i32)
    (block $h (result i32 (ref $kn))
      (return (resume $kn (on $outer $h) (local.get $i) (global.get $k))))
    (global.set $k))
  (func (export "suspend to the inner handler") (param i32) (global.set $asks-inner (local.get 0)))
  (func (export "garbage")
    (local $i i32)
    (loop $next
      (drop (struct.new $s (i32.const -1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 1000)))))
  ;; Resumes the captured stacks inside another computation, n stacks deep.
  (elem declare func $deeper)
  (func $deeper (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (call $continue (i32.const 10)))))
    (resume $kn (i32.sub (local.get $n) (i32.const 1)) (cont.new $kn (ref.func $deeper))))
  (func (export "continue at depth") (param i32) (result i32) (call $deeper (local.get 0))))


;; The suspension reaches the second enclosing handler, then the tenth and the 301st.
(assert_return (invoke "start" (i32.const 1)) (i32.const 1))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 10)) (i32.const 2))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 20)) (i32.const 31))
(assert_return (invoke "start" (i32.const 9)) (i32.const 1))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 10)) (i32.const 2))
(assert_return (invoke "continue" (i32.const 20)) (i32.const 75))
(assert_return (invoke "start" (i32.const 300)) (i32.const 1))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 10)) (i32.const 2))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 20)) (i32.const 45180))

;; The captured stacks are resumed elsewhere, at the depth of several other stacks.
(assert_return (invoke "start" (i32.const 9)) (i32.const 1))
(assert_return (invoke "continue at depth" (i32.const 7)) (i32.const 2))
(invoke "garbage")
(assert_return (invoke "continue at depth" (i32.const 3)) (i32.const 65))

;; After it is resumed, each captured stack has its own handlers again.
(invoke "suspend to the inner handler" (i32.const 1))
(assert_return (invoke "start" (i32.const 9)) (i32.const 1))
(invoke "garbage")
(assert_return (invoke "continue" (i32.const 10)) (i32.const 1055))
(assert_trap (invoke "continue" (i32.const 10)) "continuation already consumed")
