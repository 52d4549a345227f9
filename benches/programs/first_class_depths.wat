;; Switches between a first-class stack inside of nested resumes and one outside, by every
;; instruction.
;; The basic switch is in first_class_nested.wat.
;; One operation is a switch there and one back.
(module
  (type $nested_body (func (param i32)))
  (type $nested (cont $nested_body))
  (import "host" "new_stack" (func $new_stack (result stackref)))
  (event $asked (param stackref))
  (event $told (param i64 stackref))
  (event $value (param i64))
  (event $both (param i64))
  (global $n (mut i64) (i64.const 0))
  (global $sum (mut i64) (i64.const 0))
  (global $which (mut i32) (i32.const 0))
  (global $left (mut stackref) (ref.null stack))
  (elem declare func $inside)

  (func $inside (type $nested_body) (param $depth i32)
    (if (i32.eqz (local.get $depth))
      (then
        (if (i32.eq (global.get $which) (i32.const 0)) (then (return_call $switches)))
        (if (i32.eq (global.get $which) (i32.const 1)) (then (return_call $calls)))
        (if (i32.eq (global.get $which) (i32.const 2)) (then (return_call $drops)))
        (if (i32.eq (global.get $which) (i32.const 3)) (then (return_call $extends)))
        (if (i32.eq (global.get $which) (i32.const 4)) (then (return_call $is_extended)))
        (if (i32.eq (global.get $which) (i32.const 5)) (then (return_call $catches)))
        (return_call $is_redirected)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $times (param $n i64) (param $which i32) (result i64)
    (global.set $n (local.get $n))
    (global.set $which (local.get $which))
    (call $inside (i32.const DEPTH))
    (global.get $sum))

  ;; stack.switch.
  (func $count (param $from stackref)
    (local $i i64)
    (loop $next
      (block $asked (result stackref)
        (try
          (stack.switch $told (local.get $i) (local.get_clear $from))
          (catch $asked $asked))
        (unreachable))
      (local.set_cleared $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func $begin_count (result stackref)
    (block $told (result i64 stackref)
      (try
        (stack.switch_call $count (call $new_stack))
        (catch $told $told))
      (unreachable))
    (global.set_cleared $left)
    (drop)
    (global.get_clear $left))
  (func $switches
    (local $counter stackref)
    (local.set_cleared $counter (call $begin_count))
    (loop $next
      (block $told (result i64 stackref)
        (try
          (stack.switch $asked (local.get_clear $counter))
          (catch $told $told))
        (unreachable))
      (local.set_cleared $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 0)))

  ;; stack.switch_call in both directions.
  (func $pass (param $from stackref) (result stackref) (local.get_clear $from))
  (func $tell (param $i i64) (param $from stackref) (result i64 stackref) (local.get $i) (local.get_clear $from))
  (func $count_calling (param $from stackref)
    (local $i i64)
    (loop $next
      (block $asked (result stackref)
        (try
          (stack.switch_call $tell $told (local.get $i) (local.get_clear $from))
          (catch $asked $asked))
        (unreachable))
      (local.set_cleared $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func $calls
    (local $counter stackref)
    (block $told (result i64 stackref)
      (try
        (stack.switch_call $count_calling (call $new_stack))
        (catch $told $told))
      (unreachable))
    (local.set_cleared $counter)
    (drop)
    (loop $next
      (block $told (result i64 stackref)
        (try
          (stack.switch_call $pass $asked (local.get_clear $counter))
          (catch $told $told))
        (unreachable))
      (local.set_cleared $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch_call") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 1)))

  ;; stack.switch_drop from a new stack.
  (func $once (param $from stackref)
    (stack.switch_drop $value (i64.const 1) (local.get_clear $from)))
  (func $drops
    (loop $next
      (block $value (result i64)
        (try
          (stack.switch_call $once (call $new_stack))
          (catch $value $value))
        (unreachable))
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch_drop") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 2)))

  ;; stack.extend of the outer stack, from inside.
  (rout $r (result stackref)
    (block $asked (result stackref)
      (try
        (stack.start)
        (catch $asked $asked))
      (unreachable)))
  (func $extends
    (local $counter stackref)
    (local.set_cleared $counter (call $begin_count))
    (loop $next
      (local.set_cleared $counter (stack.extend $r $asked (local.get_clear $counter)))
      (block $told (result i64 stackref)
        (try
          (stack.switch $asked (local.get_clear $counter))
          (catch $told $told))
        (unreachable))
      (local.set_cleared $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "extend") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 3)))

  ;; stack.extend of the inner stack.
  (rout $r2 (result i64 stackref)
    (block $told (result i64 stackref)
      (try
        (stack.start)
        (catch $told $told))
      (unreachable)))
  (func $count_extending (param $from stackref)
    (local $i i64)
    (loop $next
      (local.set_cleared $from (stack.extend $r2 $told (local.get_clear $from)))
      (block $asked (result stackref)
        (try
          (stack.switch $told (local.get $i) (local.get_clear $from))
          (catch $asked $asked))
        (unreachable))
      (local.set_cleared $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func $is_extended
    (local $counter stackref)
    (block $told (result i64 stackref)
      (try
        (stack.switch_call $count_extending (call $new_stack))
        (catch $told $told))
      (unreachable))
    (local.set_cleared $counter)
    (drop)
    (loop $next
      (block $told (result i64 stackref)
        (try
          (stack.switch $asked (local.get_clear $counter))
          (catch $told $told))
        (unreachable))
      (local.set_cleared $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "extended") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 4)))

  ;; The caller of the switching function catches the event.
  (func $ask (param $counter stackref) (stack.switch $asked (local.get_clear $counter)))
  (func $catches
    (local $counter stackref)
    (local.set_cleared $counter (call $begin_count))
    (loop $next
      (block $told (result i64 stackref)
        (try
          (call $ask (local.get_clear $counter))
          (catch $told $told))
        (unreachable))
      (local.set_cleared $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "thrown") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 5)))

  ;; A new stack whose exception is redirected to the inner stack.
  (func $fails (param $from stackref)
    (stack.redirect $from (throw $value (i64.const 1)))
    (unreachable))
  (func $is_redirected
    (loop $next
      (block $value (result i64)
        (try
          (stack.switch_call $fails (call $new_stack))
          (catch $value $value))
        (unreachable))
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "redirect") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 6))))
