;; Nested effect handlers on first-class stacks. A handler runs its code on a new stack that
;; redirects to its own. `call_stack` finds the `answer` of its tag at any distance, which switches
;; to the handler.
(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (call_tag $get (result i64))
  (call_tag $log (param i64))
  (event $asked (param stackref))
  (event $got (param i64 stackref))
  (event $logged (param i64 stackref))
  (event $go (param stackref))
  (event $end)

  (func $program (param $n i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call_stack $log (i64.mul (local.get $i) (call_stack $get)))
          (br $next)))))

  (func $with-get (param $n i64) (param $handler stackref)
    (stack.redirect $handler
      (answer $get
        (block $got (result i64 stackref)
          (try (stack.switch $asked (local.get_clear $handler)) catch $got $got)
          (unreachable))
        (local.set_cleared $handler)
       within
        (call $program (local.get $n))))
    (stack.switch_drop $end (local.get_clear $handler)))
  (func $handle-get (param $n i64)
    (local $rest stackref) (local $number i64)
    (block $end
      (block $first (result stackref)
        (try
          (stack.switch_call $with-get (local.get $n) (call $new-stack))
          catch $asked $first
          catch $end $end)
        (unreachable))
      (loop $next (param stackref)
        (local.set_cleared $rest)
        (local.set $number (i64.add (local.get $number) (i64.const 1)))
        (block $asked (result stackref)
          (try
            (stack.switch $got (local.get $number) (local.get_clear $rest))
            catch $asked $asked
            catch $end $end)
          (unreachable))
        (br $next))))

  (func $with-log (param $n i64) (param $handler stackref)
    (local $value i64)
    (stack.redirect $handler
      (answer $log
        (local.set $value)
        (block $go (result stackref)
          (try
            (stack.switch $logged (local.get $value) (local.get_clear $handler))
            catch $go $go)
          (unreachable))
        (local.set_cleared $handler)
       within
        (call $handle-get (local.get $n))))
    (stack.switch_drop $end (local.get_clear $handler)))
  (func (export "run") (param $n i64) (result i64)
    (local $rest stackref) (local $total i64)
    (block $end
      (block $first (result i64 stackref)
        (try
          (stack.switch_call $with-log (local.get $n) (call $new-stack))
          catch $logged $first
          catch $end $end)
        (unreachable))
      (loop $next (param i64 stackref)
        (local.set_cleared $rest)
        (local.set $total (i64.add (local.get $total)))
        (block $logged (result i64 stackref)
          (try
            (stack.switch $go (local.get_clear $rest))
            catch $logged $logged
            catch $end $end)
          (unreachable))
        (br $next)))
    (local.get $total)))
