;; Multi-shot choice on first-class stacks: the handler switches to a copy of the stack with 0, and
;; to the stack itself with 1.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $chosen (param i64 stackref))
  (event $choose (param stackref))
  (event $end (param i64))

  (rout $rest
    (block $chosen (result i64 stackref)
      (try (stack.start) catch $chosen $chosen)
      (unreachable))
    (call $body))
  ;; A number of three chosen bits.
  (func $body (param $number i64) (param $handler stackref)
    (local $bits i32)
    (loop $next
      (block $chosen (result i64 stackref)
        (try (stack.switch $choose (local.get_clear $handler)) catch $chosen $chosen)
        (unreachable))
      (local.set_cleared $handler)
      (local.set $number (i64.add (i64.mul (local.get $number) (i64.const 2))))
      (local.set $bits (i32.add (local.get $bits) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $bits) (i32.const 3))))
    (stack.switch_drop $end (local.get $number) (local.get_clear $handler)))

  ;; The sum of all numbers.
  (func $explore (param $choice i64) (param $rest stackref) (result i64)
    (local $copy stackref)
    (block $end (result i64)
      (block $choose (result stackref)
        (try
          (stack.switch $chosen (local.get $choice) (local.get_clear $rest))
          catch $choose $choose
          catch $end $end)
        (unreachable))
      (stack.clone)
      (local.set_cleared $copy)
      (local.set_cleared $rest)
      (i64.add
        (call $explore (i64.const 0) (local.get_clear $copy))
        (call $explore (i64.const 1) (local.get_clear $rest)))))

  (func (export "run") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (local.set $sum
            (i64.add (local.get $sum)
              (call $explore (i64.const 0) (stack.extend $rest (call $new-stack)))))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (local.get $sum)))
