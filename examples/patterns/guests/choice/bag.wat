;; Multi-shot choice in the bag of stacks: the handler switches to a copy of the stack with 0, and
;; to the stack itself with 1.
(module
  (rec
    (type $rest (stack (param i64) (ref null $handler)))
    (type $handler (stack (param i64) (ref null $rest))))

  ;; A number of three chosen bits.
  (func $body (param $number i64) (param $handler (ref null $handler))
    (local $bits i32)
    (loop $next
      (switch $handler (i64.const 0) (local.get $handler))
      (local.set $handler)
      (local.set $number (i64.add (i64.mul (local.get $number) (i64.const 2))))
      (local.set $bits (i32.add (local.get $bits) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $bits) (i32.const 3))))
    (switch_retire $handler (local.get $number) (local.get $handler)))

  ;; The sum of all numbers.
  (func $explore (param $choice i64) (param $rest (ref null $rest)) (result i64)
    (local $number i64)
    (switch $rest (local.get $choice) (local.get $rest))
    (local.set $rest)
    (local.set $number)
    (if (ref.is_null (local.get $rest)) (then (return (local.get $number))))
    (i64.add
      (call $explore (i64.const 0) (stack.clone $rest (local.get $rest)))
      (call $explore (i64.const 1) (local.get $rest))))

  (func (export "run") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (local.set $sum
            (i64.add (local.get $sum)
              (call $explore (i64.const 0) (stack.new $rest $body))))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (local.get $sum)))
