;; Task types have several notations, and structurally equal types are the same type.

(module
  ;; All of these are the same type.
  (type $t1 (task (param i32 f64) (result i64 i32)))
  (type $t2 (task (param i32) (param f64) (result i64) (result i32)))
  (type $t3 (taskref (i32 f64) (i64 i32)))
  (type $t4 (task (param $a i32) (param $b f64) (result i64 i32)))
  (func $body (param $me (ref null $t2)) (param i32) (param f64) (result i64 i32)
    (task.suspend $t3 (local.get $me)
      (i64.extend_i32_s (local.get 1)) (i32.trunc_f64_s (local.get 2)))
    (i32.trunc_f64_s)
    (local.set 1)
    (i64.extend_i32_s)
    (local.get 1))
  (func (export "one type") (result i64 i32 i64 i32)
    (local $t (ref null $t4))
    (local.set $t (task.new $t1 $body))
    (task.resume $t2 (local.get $t) (i32.const 1) (f64.const 2))
    (task.resume $t3 (local.get $t) (i32.const 3) (f64.const 4)))

  ;; Without parameters, results or both.
  (type $none (task))
  (type $none2 (taskref () ()))
  (type $in (task (param i32)))
  (type $in2 (taskref (i32) ()))
  (type $out (task (result i32)))
  (type $out2 (taskref () (i32)))
  (func $none (param (ref $none2)))
  (func $in (param (ref null $in2) i32))
  (func $out (param (ref null $out2)) (result i32) (i32.const 5))
  (func (export "none") (task.resume $none2 (task.new $none $none)))
  (func (export "in") (task.resume $in2 (task.new $in $in) (i32.const 4)))
  (func (export "out") (result i32) (task.resume $out2 (task.new $out $out)))

  ;; The parameter and the result are tasks of the same type.
  (type $self (task (param (ref null $self)) (result (ref null $self))))
  (global $steps (mut i32) (i32.const 0))
  (func $self (param $me (ref null $self)) (param $other (ref null $self))
    (result (ref null $self))
    (global.set $steps (i32.add (global.get $steps) (i32.const 1)))
    (if (ref.is_null (local.get $other)) (then (return (local.get $me))))
    (task.resume $self (local.get $other) (ref.null $self)))
  (func (export "self") (result i32 i32)
    (ref.is_null
      (task.resume $self (task.new $self $self) (task.new $self $self)))
    (global.get $steps))

  ;; Two types refer to each other, through a struct.
  (rec
    (type $ping (task (param (ref null $pong)) (result (ref null $box))))
    (type $box (struct (field (ref null $ping)) (field i32)))
    (type $pong (taskref ((ref null $box)) ((ref null $ping)))))
  (func $ping (param $me (ref $ping)) (param (ref null $pong)) (result (ref null $box))
    (drop (task.resume $pong (local.get 1) (struct.new $box (local.get $me) (i32.const 6))))
    (struct.new $box (ref.null $ping) (global.get $steps)))
  (func $pong (param $me (ref $pong)) (param (ref null $box)) (result (ref null $ping))
    (global.set $steps (struct.get $box 1 (local.get 1)))
    (struct.get $box 0 (local.get 1)))
  (func (export "each other") (result i32)
    (struct.get $box 1 (task.resume $ping (task.new $ping $ping) (task.new $pong $pong))))

  ;; Functions are compared by structure.
  (type $shape (func (param (ref null $out) externref) (result i32)))
  (func $shaped (type $shape) (ref.is_null (local.get 1)))
  (func (export "shape") (result i32)
    (task.resume $out (task.new $out $shaped (ref.null extern))))
  ;; Parameters may be supertypes, and results subtypes.
  (type $a (sub (struct (field i32))))
  (type $b (sub $a (struct (field i32) (field i32))))
  (type $sub (task (param (ref $b)) (result (ref null $a))))
  (func $sub (param (ref null $sub)) (param (ref $a)) (param anyref) (result (ref $b))
    (struct.new $b (struct.get $a 0 (local.get 1)) (i32.const 0)))
  (func (export "subtypes") (result i32)
    (struct.get $a 0
      (task.resume $sub (task.new $sub $sub (ref.i31 (i32.const 1)))
        (struct.new $b (i32.const 7) (i32.const 8))))))

(assert_return (invoke "one type") (i64.const 1) (i32.const 2) (i64.const 3) (i32.const 4))
(assert_return (invoke "none"))
(assert_return (invoke "in"))
(assert_return (invoke "out") (i32.const 5))
(assert_return (invoke "self") (i32.const 0) (i32.const 2))
(assert_return (invoke "each other") (i32.const 6))
(assert_return (invoke "shape") (i32.const 1))
(assert_return (invoke "subtypes") (i32.const 7))

(module quote
  "(type $t (task (result i32)))"
  "(func $f (param (ref $t)) (result i32) (i32.const 8))"
  "(func (export \"go\") (result i32) (task.resume $t (task.new $t $f)))")
(assert_return (invoke "go") (i32.const 8))
