;; A walk for an answer follows parents and redirections into suspended stacks.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (call_tag $ask (param i32) (result i32))
  (call_tag $other (param i32) (result i32))
  (tag $x (param i32))
  (event $done (param i32))
  (event $ready (param stackref))
  (event $go (param stackref))
  (global $n (mut i32) (i32.const 0))
  (global $ready (mut stackref) (ref.null stack))
  (func $finish (param $n i32) (param $main stackref)
    (stack.switch_drop $done (local.get $n) (local.get_clear $main)))

  ;; Without a redirection, the walk does not enter the stack that switched here.
  (func $asks (param $main stackref) (drop (call_stack $ask (i32.const 1))))
  (func (export "not the switching stack") (result i32)
    (answer $ask (result i32) within
      (stack.switch_call $asks (call $new))))
  ;; With a redirection, it does.
  (func $asks-main (param $main stackref)
    (stack.redirect $main (result i32) (call_stack $ask (i32.const 1)))
    (call $finish (local.get_clear $main)))
  (func (export "redirected") (result i32)
    (local $l i32)
    (local.set $l (i32.const 10))
    (answer $ask (result i32) (i32.add (local.get $l)) (local.set $l (i32.const 20)) within
      (block $done (result i32)
        (try (stack.switch_call $asks-main (call $new)) catch $done $done)
        (unreachable)))
    (i32.add (local.get $l)))
  ;; The stack's own answers come first, but only those inside the redirection.
  (func $own (param $main stackref)
    (answer $other (result i32) (i32.add (i32.const 1000)) within
      (stack.redirect $main (result i32)
        (answer $ask (result i32) (i32.add (i32.const 1)) within
          (call_stack $other (call_stack $ask (i32.const 0))))))
    (call $finish (local.get_clear $main)))
  (func (export "own answers first") (result i32)
    (answer $ask (result i32) (i32.add (i32.const 10)) within
      (answer $other (result i32) (i32.add (i32.const 100)) within
        (block $done (result i32)
          (try (stack.switch_call $own (call $new)) catch $done $done)
          (unreachable)))))
  ;; A redirection with null has no effect.
  (func (export "null") (result i32)
    (local $null stackref)
    (answer $ask (result i32) (i32.add (i32.const 3)) within
      (stack.redirect $null (result i32) (call_stack $ask (i32.const 1)))))

  ;; n stacks, each redirected to the previous one.
  (func $chain (param $n i32) (param $below stackref)
    (if (i32.eqz (local.get $n))
      (then
        (stack.redirect $below (result i32) (call_stack $ask (i32.const 1)))
        (call $finish (local.get_clear $below))))
    (stack.redirect $below (result i32)
      (block $done (result i32)
        (try
          (stack.switch_call $chain (i32.sub (local.get $n) (i32.const 1)) (call $new))
          catch $done $done)
        (unreachable)))
    (call $finish (local.get_clear $below)))
  (func (export "several deep") (param $n i32) (result i32)
    (answer $ask (result i32) (i32.add (local.get $n)) within
      (block $done (result i32)
        (try (stack.switch_call $chain (local.get $n) (call $new)) catch $done $done)
        (unreachable))))

  ;; The walk enters a suspended stack, whose answer is in the middle of its frames.
  (func $waits (param $n i32) (param $main stackref)
    (answer $ask
      (i32.add (local.get $n))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
     within
      (call $leaf (local.get_clear $main))))
  (func $leaf (param $main stackref)
    (block $go (result stackref)
      (try (stack.switch $ready (local.get_clear $main)) catch $go $go)
      (unreachable))
    (call $tell-n))
  (func $tell-n (param $main stackref)
    (stack.switch_drop $done (call_stack $ask (i32.const 0)) (local.get_clear $main)))
  (func $start (param $n i32) (result stackref)
    (block $ready (result stackref)
      (try (stack.switch_call $waits (local.get $n) (call $new)) catch $ready $ready)
      (unreachable)))
  (func (export "into a suspended stack") (result i32 i32 i32)
    (local $s stackref)
    (local.set_cleared $s (call $start (i32.const 5)))
    (stack.redirect $s (result i32 i32)
      (call_stack $ask (i32.const 10))
      (call_stack $ask (i32.const 20)))
    ;; The suspended stack sees the effects of its answers when it continues.
    (block $done (result i32)
      (try (stack.switch $go (local.get_clear $s)) catch $done $done)
      (unreachable)))
  (func (export "into a stack without an answer")
    (local $s stackref)
    (local.set_cleared $s (call $new))
    (answer $ask within
      (stack.redirect $s (drop (call_stack $ask (i32.const 1))))))

  ;; Answers and redirections of a rout that has not started are active.
  (rout $answers (param $n i32)
    (answer $ask
      (i32.add (local.get $n))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
     within
      (stack.start)))
  (rout $redirects (param $to stackref) (stack.redirect $to (stack.start)))
  (func (export "an extended stack") (result i32 i32)
    (local $s stackref)
    (local.set_cleared $s (stack.extend $answers (i32.const 7) (call $new)))
    (stack.redirect $s (result i32 i32)
      (call_stack $ask (i32.const 10))
      (call_stack $ask (i32.const 20))))
  (func (export "nested extended stacks") (result i32)
    (local $s stackref)
    (local.set_cleared $s
      (stack.extend $redirects
        (stack.extend $redirects (call $start (i32.const 3)) (call $new))
        (stack.extend $answers (i32.const 100) (call $new))))
    (stack.redirect $s (result i32) (call_stack $ask (i32.const 0))))
  (func (export "below the rout") (result i32)
    (local $s stackref) (local $null stackref)
    (local.set_cleared $s
      (stack.extend $redirects (local.get_clear $null)
        (stack.extend $answers (i32.const 100) (call $new))))
    (stack.redirect $s (result i32) (call_stack $ask (i32.const 0))))

  ;; After a walk, also one that ends by an exception, the local has its stack again.
  (rout $throws
    (answer $ask (result i32) (throw $x) within
      (block $x (result i32)
        (try_table (catch $x $x) (stack.start))
        (unreachable)))
    (global.set $n)
    (stack.switch_drop $done (global.get $n) (global.get_clear $ready)))
  (func (export "restored after an exception") (result i32 i32)
    (local $s stackref)
    (local.set_cleared $s (stack.extend $throws (call $new)))
    (stack.redirect $s (result i32)
      (block $x (result i32)
        (try_table (catch $x $x) (drop (call_stack $ask (i32.const 5))))
        (unreachable)))
    (ref.is_null (local.get_clear $s)))
  ;; If it is not caught, the exception reaches the redirection and continues in the answer's stack.
  (func $asks-redirected (param $main stackref)
    (local $s stackref)
    (global.set_cleared $ready (local.get_clear $main))
    (local.set_cleared $s (stack.extend $throws (call $new)))
    (stack.redirect $s (drop (call_stack $ask (i32.const 6)))))
  (func (export "thrown to the stack of the answer") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $asks-redirected (call $new)) catch $done $done)
      (unreachable)))

  ;; A walk finds an answer, which starts a second walk. The second walk starts outside of that
  ;; answer, in the answer's stack.
  (rout $asks-on (param $to stackref)
    (stack.redirect $to
      (answer $other (i32.add (i32.const 1)) within
        (answer $ask
          (call_stack $other)
          (i32.add (call_stack $ask (i32.const 50)))
         within
          (stack.start)))))
  (func (export "a second walk") (result i32)
    (local $s stackref)
    (local.set_cleared $s
      (stack.extend $asks-on (stack.extend $answers (i32.const 300) (call $new)) (call $new)))
    (answer $other (result i32) (unreachable) within
      (stack.redirect $s (result i32)
        (call_stack $ask (i32.const 1000)))))

  ;; The slot is set during the walk.
  (func (export "set during the walk")
    (local $s stackref) (local $null stackref)
    (local.set_cleared $s (stack.extend $answers (i32.const 1) (call $new)))
    (stack.redirect $s
      (stack.redirect_to
        (local.get_clear $null)
       then
        (drop)
        (local.set_cleared $s (call $new))
       within
        (drop (call_stack $ask (i32.const 0)))))))

(assert_trap (invoke "not the switching stack") "no answer on the stack")
(assert_return (invoke "redirected") (i32.const 31))
(assert_return (invoke "own answers first") (i32.const 101))
(assert_return (invoke "null") (i32.const 4))
(assert_return (invoke "several deep" (i32.const 0)) (i32.const 1))
(assert_return (invoke "several deep" (i32.const 1)) (i32.const 2))
(assert_return (invoke "several deep" (i32.const 40)) (i32.const 41))
(assert_return (invoke "into a suspended stack") (i32.const 15) (i32.const 26) (i32.const 7))
(assert_trap (invoke "into a stack without an answer") "no answer on the stack")
(assert_return (invoke "an extended stack") (i32.const 17) (i32.const 28))
(assert_return (invoke "nested extended stacks") (i32.const 3))
(assert_return (invoke "below the rout") (i32.const 100))
(assert_return (invoke "restored after an exception") (i32.const 5) (i32.const 0))
(assert_return (invoke "thrown to the stack of the answer") (i32.const 6))
(assert_return (invoke "a second walk") (i32.const 1351))
(assert_trap (invoke "set during the walk") "linear slot is not empty")
