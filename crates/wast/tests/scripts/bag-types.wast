;; Stack types have several notations, and structurally equal types are the same type.

(module
  ;; The return stack is bare or in a last `param`; parameters are grouped or separate, with or
  ;; without names. All of these groups define the same types.
  (rec
    (type $a1 (stack (param i32) (param i64) (ref null $b1)))
    (type $b1 (stack (param f64) (ref $a1))))
  (rec
    (type $a2 (stack (param i32) (param i64) (param (ref null $b2))))
    (type $b2 (stack (param f64) (param (ref $a2)))))
  (rec
    (type $a3 (stack (param i32 i64) (param $back (ref null $b3))))
    (type $b3 (stack (param $x f64) (param $back (ref $a3)))))
  (rec
    (type $a4 (stack (param i32 i64 (ref null $b4))))
    (type $b4 (stack (param f64 (ref $a4)))))

  (func $body (param i32) (param i64) (param (ref null $b1))
    (loop $next
      (switch $b2
        (f64.add (f64.convert_i32_s (local.get 0)) (f64.convert_i64_s (local.get 1)))
        (local.get 2))
      (local.set 2)
      (local.set 1)
      (local.set 0)
      (br $next)))
  (func (export "one type") (result f64 f64 f64 f64)
    (local $s (ref null $a4)) (local $x f64)
    (switch $a1 (i32.const 1) (i64.const 2) (stack.new $a2 $body))
    (local.set $s) (local.set $x) (local.get $x)
    (switch $a2 (i32.const 3) (i64.const 4) (local.get $s))
    (local.set $s) (local.set $x) (local.get $x)
    (switch $a3 (i32.const 5) (i64.const 6) (local.get $s))
    (local.set $s) (local.set $x) (local.get $x)
    (switch $a4 (i32.const 7) (i64.const 8) (local.get $s))
    (drop))

  ;; A type can be its own return stack, nullable or not, or have an earlier type.
  (type $self (stack (ref null $self)))
  (type $strict (stack (ref $strict)))
  (type $number (stack (param i32) (ref null $self)))
  (func $to-self (param (ref null $self)) (drop (switch $self (local.get 0))) (unreachable))
  (func $to-strict (param (ref $strict)) (drop (switch $strict (local.get 0))) (unreachable))
  (func $to-number (param (ref null $number))
    (switch_retire $number (i32.const 6) (local.get 0)))
  (type $ask (stack (ref null $number)))
  (func (export "self") (result i32) (ref.is_null (switch $self (stack.new $self $to-self))))
  (func (export "strict") (result i32)
    (ref.is_null (switch $strict (stack.new $strict $to-strict))))
  (func (export "number") (result i32)
    (switch $ask (stack.new $ask $to-number))
    (drop))

  ;; In a group with other types.
  (rec
    (type $node (struct (field $value i32) (field $reader (mut (ref null $reader)))))
    (type $reader (stack (param (ref $node)) (ref null $reading)))
    (type $body (func (param (ref $node)) (param (ref null $reading))))
    (type $reading (stack (param i32) (ref null $reader))))
  (func $read (type $body)
    (local $node (ref null $node))
    (local.set $node (local.get 0))
    (loop $next
      (switch $reading (struct.get $node $value (local.get $node)) (local.get 1))
      (local.set 1)
      (local.set $node)
      (br $next)))
  (func (export "group") (result i32)
    (local $node (ref $node))
    (local.set $node (struct.new $node (i32.const 9) (stack.new $reader $read)))
    (switch $reader (local.get $node) (struct.get $node $reader (local.get $node)))
    (drop))

  ;; Open and final types.
  (type $open (sub (stack (param i32) (ref null $self))))
  (type $closed (sub final $open (stack (param i32) (ref null $self))))
  (type $final (sub final (stack (param i32) (ref null $self))))
  (func $takes-final (param (ref null $final)))
  (func $drops (param i32) (param (ref null $self)))
  ;; Types are final by default.
  (func (export "final is the default") (call $takes-final (stack.new $number $drops)))

  ;; The top and bottom types.
  (global $any (mut (ref null stack)) (ref.null stack))
  (global $none (ref null nostack) (ref.null nostack))
  (func (export "top") (result i32 i32)
    (global.set $any (stack.new $self $to-self))
    (ref.is_null (global.get $any))
    (global.set $any (stack.new $number $drops))
    (global.set $any (global.get $none))
    (ref.is_null (global.get $any)))
  (func $none-is-any (param (ref null nostack)) (result (ref null $number)) (local.get 0))
  (func (export "bottom") (result i32)
    (ref.is_null (call $none-is-any (ref.null nostack)))))

(assert_return (invoke "one type") (f64.const 3) (f64.const 7) (f64.const 11) (f64.const 15))
(assert_return (invoke "self") (i32.const 0))
(assert_return (invoke "strict") (i32.const 0))
(assert_return (invoke "number") (i32.const 6))
(assert_return (invoke "group") (i32.const 9))
(assert_return (invoke "final is the default"))
(assert_return (invoke "top") (i32.const 0) (i32.const 1))
(assert_return (invoke "bottom") (i32.const 1))

;; In a quoted module.
(module quote
  "(type $c (stack (ref null $c)))"
  "(func $back (param (ref null $c)) (switch_retire $c (local.get 0)))"
  "(func (export \"go\") (result i32) (ref.is_null (switch $c (stack.new $c $back))))")
(assert_return (invoke "go") (i32.const 1))
