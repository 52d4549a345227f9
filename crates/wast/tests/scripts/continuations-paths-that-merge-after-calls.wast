;; A function reloads its running stack where paths merge after a call that may suspend it.
(module
  (type $body (func))
  (type $k (cont $body))
  (type $with (func (param i32)))
  (type $kw (cont $with))
  (tag $yield (param i32))
  (tag $e (param i32))
  (elem declare func $arms $table $around $caught $loops $inner $nested)

  (func $twice (param $x i32)
    (suspend $yield (local.get $x))
    (suspend $yield (i32.add (local.get $x) (i32.const 1))))
  (func $throws (param $x i32)
    (suspend $yield (local.get $x))
    (throw $e (i32.add (local.get $x) (i32.const 1))))

  ;; Only one arm contains a call.
  (func $arms (param $x i32)
    (local $i i32)
    (loop $next
      (suspend $yield (i32.const 1))
      (if (i32.and (local.get $i) (i32.const 1))
        (then (call $twice (i32.const 10)))
        (else (local.set $x (i32.add (local.get $x) (i32.const 1)))))
      (suspend $yield (local.get $x))
      (if (i32.and (local.get $i) (i32.const 2)) (then (call $twice (i32.const 20))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 6))))
    (suspend $yield (i32.const 99)))

  ;; Branches leave from different places.
  (func $table (param $x i32)
    (local $i i32)
    (loop $next
      (block $c
        (block $b
          (block $a
            (br_table $a $b $c (i32.rem_u (local.get $i) (i32.const 3))))
          (call $twice (i32.const 30))
          (br_if $c (i32.and (local.get $i) (i32.const 1))))
        (suspend $yield (i32.const 2))
        (br_if $c (i32.eq (local.get $i) (i32.const 4)))
        (call $twice (i32.const 40)))
      (suspend $yield (local.get $i))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 7)))))

  ;; An inner loop suspends without calls; the outer loop calls.
  (func $around (param $x i32)
    (local $i i32)
    (local $j i32)
    (loop $outer
      (call $twice (i32.const 50))
      (local.set $j (i32.const 3))
      (loop $inner
        (suspend $yield (local.get $j))
        (br_if $inner (local.tee $j (i32.sub (local.get $j) (i32.const 1)))))
      (br_if $outer
        (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4)))))

  ;; An exception leads back to the loop head. The only call in the loop is the one that throws.
  (func $caught (param $x i32)
    (local $i i32)
    (loop $next (result i32)
      (drop
        (block $on (result i32)
          (try_table (catch $e $on)
            (suspend $yield (local.get $i))
            (if (i32.and (local.get $i) (i32.const 1)) (then (call $throws (i32.const 60))))
            (suspend $yield (i32.const 3)))
          (i32.const 4)))
      (suspend $yield (i32.const 5))
      (br_if $next
        (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5)))
      (i32.const 0))
    (drop))

  ;; One loop both resumes and suspends. The resumed continuation also suspends the loop's stack.
  (func $inner (param $x i32)
    (suspend $yield (i32.const 70))
    (suspend $e2 (i32.const 71))
    (suspend $yield (i32.const 72)))
  (tag $e2 (param i32))
  (func $loops (param $x i32)
    (local $i i32)
    (local $k (ref null $k))
    (loop $next
      (block $done
        (block $on (result i32 (ref $k))
          (resume $kw (on $e2 $on) (i32.const 0) (cont.new $kw (ref.func $inner)))
          (br $done))
        (local.set $k)
        (suspend $yield)
        (resume $k (local.get $k)))
      (suspend $yield (local.get $i))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 3)))))

  ;; The same inside another continuation, which is suspended as well.
  (func $nested (param $which i32)
    (call $run_inside (local.get $which)))
  (func $run_inside (param $which i32)
    (resume $kw (i32.const 0) (call $make (local.get $which))))

  (func $make (param $which i32) (result (ref $kw))
    (block $5 (block $4 (block $3 (block $2 (block $1
      (br_table $1 $2 $3 $4 $5 (local.get $which)))
      (return (cont.new $kw (ref.func $arms))))
      (return (cont.new $kw (ref.func $table))))
      (return (cont.new $kw (ref.func $around))))
      (return (cont.new $kw (ref.func $caught))))
    (cont.new $kw (ref.func $loops)))

  ;; Collects all yielded values as digits in base 101.
  (func $collect (param $k (ref null $kw)) (param $x i32) (result i64)
    (local $rest (ref null $k))
    (local $sum i64)
    (local $y i32)
    (block $end
      (block $on (result i32 (ref $k))
        (resume $kw (on $yield $on) (local.get $x) (local.get $k))
        (br $end))
      (local.set $rest)
      (local.set $y)
      (loop $next
        (local.set $sum
          (i64.add (i64.mul (local.get $sum) (i64.const 101)) (i64.extend_i32_u (local.get $y))))
        (block $on (result i32 (ref $k))
          (resume $k (on $yield $on) (local.get $rest))
          (br $end))
        (local.set $rest)
        (local.set $y)
        (br $next)))
    (local.get $sum))
  (func (export "alone") (param $which i32) (result i64)
    (call $collect (call $make (local.get $which)) (i32.const 0)))
  (func (export "nested") (param $which i32) (result i64)
    (call $collect (cont.new $kw (ref.func $nested)) (local.get $which))))

(assert_return (invoke "alone" (i32.const 0)) (i64.const 8990836263089711078))
(assert_return (invoke "alone" (i32.const 1)) (i64.const 1508820003431641391))
(assert_return (invoke "alone" (i32.const 2)) (i64.const 8537868586962249540))
(assert_return (invoke "alone" (i32.const 3)) (i64.const 668597447638254240))
(assert_return (invoke "alone" (i32.const 4)) (i64.const -4044379415970236014))
(assert_return (invoke "nested" (i32.const 0)) (i64.const 8990836263089711078))
(assert_return (invoke "nested" (i32.const 1)) (i64.const 1508820003431641391))
(assert_return (invoke "nested" (i32.const 2)) (i64.const 8537868586962249540))
(assert_return (invoke "nested" (i32.const 3)) (i64.const 668597447638254240))
(assert_return (invoke "nested" (i32.const 4)) (i64.const -4044379415970236014))
