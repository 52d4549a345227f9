;; A clone has its own copy of the locals that an answer or a redirection shares with its function.

(module
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $ask (param i32 stackref))
  (event $told (param i32 stackref))
  (call_tag $add (param i32) (result i32))
  (call_tag $other (param i32) (result i32))
  (call_tag $pause (param i32) (result i32))
  (global $kept (mut stackref) (ref.null stack))
  (global $back (mut stackref) (ref.null stack))

  (func $send (param $x i32) (param $to stackref) (result i32)
    (block $told (result i32 stackref)
      (try (stack.switch $ask (local.get $x) (local.get_clear $to)) catch $told $told)
      (unreachable))
    (drop (global.get_clear $kept))
    (global.set_cleared $kept))
  ;; Sends a number and returns the reply.
  (func $send-back (param $x i32) (result i32)
    (block $asked (result i32 stackref)
      (try (stack.switch $told (local.get $x) (global.get_clear $back)) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back))
  (func $copy (local $c stackref)
    (stack.clone (global.get_clear $kept))
    (local.set_cleared $c)
    (global.set_cleared $kept)
    (global.set_cleared $copy (local.get_clear $c)))
  (global $copy (mut stackref) (ref.null stack))

  ;; The answer adds up the replies. After its block has ended, the function adds further replies.
  (func $sums (param $sum i32)
    (answer $add
      (local.set $sum (i32.add (local.get $sum)))
      (local.get $sum)
     within
      (drop (call $send-back (call_stack $add (call $send-back (call_stack $add (call $send-back
        (local.get $sum))))))))
    ;; The mark is gone, and the local is in place.
    (loop $more
      (local.set $sum (i32.add (local.get $sum) (call $send-back (local.get $sum))))
      (br $more)))
  (rout $body
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (call $sums))
  (func (export "locals of an answer") (result i32 i32 i32 i32)
    (drop (call $send (i32.const 100) (stack.extend $body (call $new-stack))))
    (drop (call $send (i32.const 1) (global.get_clear $kept)))
    (call $copy)
    (call $send (i32.const 10) (global.get_clear $kept))
    (call $send (i32.const 20) (global.get_clear $copy))
    ;; After the last reply the block ends with 121, and the stack is cloned there.
    (drop (call $send (i32.const 0) (global.get_clear $kept)))
    (call $copy)
    (call $send (i32.const 1000) (global.get_clear $kept))
    (call $send (i32.const 2000) (global.get_clear $copy)))

  ;; The answer itself sends and waits, so the stack is cloned during a walk.
  (func $asks-deep (param $x i32) (result i32) (call_stack $pause (local.get $x)))
  (func $pauses (param $sum i32)
    (answer $add (local.set $sum (i32.add (local.get $sum))) (local.get $sum) within
      (answer $pause
        (local.set $sum (i32.add (local.get $sum)))
        (call $send-back (local.get $sum))
        ;; From here, the walk finds the outer answer.
        (call_stack $add)
       within
        (loop $more
          (drop (call $send-back (call $asks-deep (i32.const 1))))
          (br $more)))))
  (rout $pausing
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (call $pauses))
  (func (export "locals during a walk") (result i32 i32 i32 i32 i32)
    (call $send (i32.const 100) (stack.extend $pausing (call $new-stack)))
    (call $copy)
    (call $send (i32.const 10) (global.get_clear $kept))
    (call $send (i32.const 0) (global.get_clear $kept))
    (call $send (i32.const 20) (global.get_clear $copy))
    (call $send (i32.const 0) (global.get_clear $kept)))

  ;; A redirection: its local is null when the stack is cloned, and one of the two then gets a
  ;; stack.
  (func $answers (result i32)
    (answer $other (result i32) (i32.add (i32.const 500)) within (call $send-back (i32.const 0))))
  (rout $answering
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (drop)
    (drop (call $answers)))
  (global $other (mut stackref) (ref.null stack))
  (func $redirects (local $x stackref)
    (answer $other (i32.add (i32.const 7)) within
      (stack.redirect $x
        (if (call $send-back (i32.const 1))
          (then (local.set_cleared $x (global.get_clear $other))))
        (drop (call $send-back (call_stack $other (i32.const 0))))
        (drop (local.get_clear $x))))
    (drop (call $send-back (i32.const -1))))
  (rout $redirecting
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (drop)
    (call $redirects))
  (func (export "locals of a redirection") (result i32 i32 i32)
    (drop (call $send (i32.const 0) (stack.extend $answering (call $new-stack))))
    (global.set_cleared $other (global.get_clear $kept))
    (drop (call $send (i32.const 0) (stack.extend $redirecting (call $new-stack))))
    (call $copy)
    (call $send (i32.const 1) (global.get_clear $kept))
    (call $send (i32.const 0) (global.get_clear $copy))
    (call $send (i32.const 0) (global.get_clear $kept)))
  ;; A redirection that holds a stack is cloned with the stack.
  (func (export "stack of a redirection")
    (drop (call $send (i32.const 0) (stack.extend $answering (call $new-stack))))
    (drop (global.get_clear $other))
    (global.set_cleared $other (global.get_clear $kept))
    (drop (call $send (i32.const 0) (stack.extend $redirecting (call $new-stack))))
    (drop (call $send (i32.const 1) (global.get_clear $kept)))
    (drop (global.get_clear $copy))
    (call $copy))
  ;; A walk that holds a stack is cloned with the stack.
  (func $pausing-there (result i32)
    (answer $other (result i32) (call $send-back) within (call $send-back (i32.const 0))))
  (rout $pausing-answer
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (drop)
    (drop (call $pausing-there)))
  (func (export "stack of a walk")
    (drop (call $send (i32.const 0) (stack.extend $pausing-answer (call $new-stack))))
    (drop (global.get_clear $other))
    (global.set_cleared $other (global.get_clear $kept))
    (drop (call $send (i32.const 0) (stack.extend $redirecting (call $new-stack))))
    (drop (call $send (i32.const 1) (global.get_clear $kept)))
    (drop (global.get_clear $copy))
    (call $copy))
  ;; A shared local that holds a stack is cloned with the stack.
  (func $shares (local $s stackref)
    (answer $add (drop (local.get_clear $s)) within
      (local.set_cleared $s (call $new-stack))
      (drop (call $send-back (i32.const 1)))
      (drop (call_stack $add (i32.const 5)))
      (drop (call $send-back (i32.const 2)))))
  (rout $sharing
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (drop)
    (call $shares))
  (func (export "stack in a shared local")
    (drop (call $send (i32.const 0) (stack.extend $sharing (call $new-stack))))
    (drop (global.get_clear $copy))
    (call $copy))
  (func (export "stack moved away") (result i32)
    (drop (call $send (i32.const 0) (stack.extend $sharing (call $new-stack))))
    (drop (call $send (i32.const 0) (global.get_clear $kept)))
    (drop (global.get_clear $copy))
    (call $copy)
    (i32.const 1))

  ;; A function with `stack.redirect_to` has its own locals too.
  (func $redirects-to (local $n i32)
    (answer $other (i32.add (i32.const 7)) within
      (stack.redirect_to
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (ref.null stack)
       then
        (drop)
       within
        (loop $more
          (drop (call $send-back (i32.add (i32.mul (local.get $n) (i32.const 100))
            (call_stack $other (i32.const 0)))))
          (br $more)))))
  (rout $redirecting-to
    (block $asked (result i32 stackref)
      (try (stack.start) catch $ask $asked)
      (unreachable))
    (global.set_cleared $back)
    (drop)
    (call $redirects-to))
  (func (export "locals of redirect_to") (result i32 i32 i32 i32)
    (call $send (i32.const 0) (stack.extend $redirecting-to (call $new-stack)))
    (drop (global.get_clear $copy))
    (call $copy)
    (call $send (i32.const 0) (global.get_clear $kept))
    (call $send (i32.const 0) (global.get_clear $kept))
    (call $send (i32.const 0) (global.get_clear $copy))))

(assert_return (invoke "locals of an answer")
  (i32.const 111) (i32.const 121) (i32.const 1121) (i32.const 2121))
(assert_return (invoke "locals during a walk")
  (i32.const 101) (i32.const 111) (i32.const 112) (i32.const 121) (i32.const 122))
(assert_return (invoke "locals of a redirection") (i32.const 500) (i32.const 7) (i32.const -1))
(assert_return (invoke "stack of a redirection"))
(assert_return (invoke "stack of a walk"))
(assert_return (invoke "stack in a shared local"))
(assert_return (invoke "stack moved away") (i32.const 1))
(assert_return (invoke "locals of redirect_to")
  (i32.const 7) (i32.const 107) (i32.const 207) (i32.const 107))
