;; Freeing first-class stacks: as one chain, as chains of a hundred, or one by one.
;; In a chain, each stack is in a local of the next.
;; One operation is a stack that is created, holds another and is freed.
(module
  (import "host" "new_stack" (func $new_stack (result stackref)))
  (event $parked (param stackref))

  ;; Keeps a stack forever.
  (func $hold (param $held stackref) (param $from stackref)
    (stack.switch $parked (local.get_clear $from)))

  (func (export "chain") (param $n i64) (result i64)
    (local $last stackref)
    (local $i i64)
    (local $sum i64)
    (loop $next
      (block $parked (result stackref)
        (try
          (stack.switch_call $hold (local.get_clear $last) (call $new_stack))
          (catch $parked $parked))
        (unreachable))
      (local.set_cleared $last)
      (local.set $sum (i64.add (local.get $sum) (local.get $i)))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.ne (local.get $i) (local.get $n))))
    (drop (local.get_clear $last))
    (local.get $sum))

  (func (export "hundreds") (param $n i64) (result i64)
    (local $last stackref)
    (local $i i64)
    (loop $next
      (block $parked (result stackref)
        (try
          (stack.switch_call $hold (local.get_clear $last) (call $new_stack))
          (catch $parked $parked))
        (unreachable))
      (local.set_cleared $last)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (if (i64.eqz (i64.rem_u (local.get $i) (i64.const 100)))
        (then (drop (local.get_clear $last))))
      (br_if $next (i64.ne (local.get $i) (local.get $n))))
    (local.get $i))

  (func (export "each") (param $n i64) (result i64)
    (local $last stackref)
    (local $i i64)
    (loop $next
      (block $parked (result stackref)
        (try
          (stack.switch_call $hold (ref.null stack) (call $new_stack))
          (catch $parked $parked))
        (unreachable))
      (local.set_cleared $last)
      (drop (local.get_clear $last))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.ne (local.get $i) (local.get $n))))
    (local.get $i)))
