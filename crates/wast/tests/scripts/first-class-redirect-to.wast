;; `stack.redirect_to` computes the stack to redirect to, and takes it back after a walk.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (tag $x (param i32))
  (event $done (param i32))
  (event $ready (param stackref))
  (event $go (param stackref))
  (call_tag $ask (param i32) (result i32))
  (call_tag $set)
  (global $host (mut stackref) (ref.null stack))
  (global $asked (mut i32) (i32.const 0))
  (global $returned (mut i32) (i32.const 0))
  (func (export "counts") (result i32 i32)
    (global.get $asked)
    (global.get $returned)
    (global.set $asked (i32.const 0))
    (global.set $returned (i32.const 0)))
  (func $get (result stackref)
    (global.set $asked (i32.add (global.get $asked) (i32.const 1)))
    (global.get_clear $host))
  (func $put (param $s stackref)
    (global.set $returned (i32.add (global.get $returned) (i32.const 1)))
    (global.set_cleared $host (local.get_clear $s)))
  (func $finish (param $n i32)
    (stack.switch_drop $done (local.get $n) (global.get_clear $host)))

  ;; An exception moves to the stack, which is not handed back.
  (func $throws (param $main stackref)
    (global.set_cleared $host (local.get_clear $main))
    (stack.redirect_to (call $get) then (call $put) within
      (throw $x (i32.const 5))))
  (func (export "exception") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.switch_call $throws (call $new)))
      (unreachable)))
  ;; The exception is caught inside, so the target is not computed.
  (func $inside (param $main stackref)
    (global.set_cleared $host (local.get_clear $main))
    (stack.redirect_to (result i32) (call $get) then (call $put) within
      (block $x (result i32)
        (try_table (catch $x $x) (throw $x (i32.const 6)))
        (unreachable)))
    (call $finish))
  (func (export "caught inside") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $inside (call $new)) catch $done $done)
      (unreachable)))
  ;; With null, the exception propagates from here.
  (func (export "null") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x)
        (stack.redirect_to (global.get_clear $host) then (global.set_cleared $host) within
          (throw $x (i32.const 7))))
      (unreachable)))

  ;; A walk goes to the stack and comes back.
  (func $walks (param $main stackref)
    (local $sum i32)
    (global.set_cleared $host (local.get_clear $main))
    (stack.redirect_to (call $get) then (call $put) within
      (local.set $sum (call_stack $ask (i32.const 1)))
      (local.set $sum (i32.add (local.get $sum) (call_stack $ask (i32.const 2)))))
    (call $finish (local.get $sum)))
  (func (export "walk") (result i32)
    (answer $ask (result i32) (i32.mul (i32.const 10)) within
      (block $done (result i32)
        (try (stack.switch_call $walks (call $new)) catch $done $done)
        (unreachable))))
  ;; During the walk, the slot is empty.
  (func (export "the slot is empty during the walk") (result i32)
    (answer $ask (result i32) (drop) (ref.is_null (global.get_clear $host)) within
      (block $done (result i32)
        (try (stack.switch_call $walks (call $new)) catch $done $done)
        (unreachable))))
  ;; If the answer fills the slot during the walk, the stack cannot be put back.
  (func (export "the slot is filled during the walk") (result i32)
    (answer $ask (result i32) (global.set_cleared $host (call $new)) within
      (block $done (result i32)
        (try (stack.switch_call $walks (call $new)) catch $done $done)
        (unreachable))))
  (func (export "clear") (drop (global.get_clear $host)))

  ;; The answer throws. The stack is put back before the exception reaches the redirection.
  (func $walks-and-catches (param $main stackref)
    (global.set_cleared $host (local.get_clear $main))
    (stack.redirect_to (result i32) (call $get) then (call $put) within
      (block $x (result i32)
        (try_table (catch $x $x) (drop (call_stack $ask (i32.const 3))))
        (unreachable)))
    (i32.add (i32.const 100))
    (call $finish))
  (func (export "an answer throws") (result i32)
    (answer $ask (result i32) (throw $x) within
      (block $done (result i32)
        (try (stack.switch_call $walks-and-catches (call $new)) catch $done $done)
        (unreachable))))
  (func (export "an answer throws an uncaught exception") (result i32)
    (answer $ask (result i32) (throw $x) within
      (block $x (result i32)
        (try_table (catch $x $x) (stack.switch_call $walks (call $new)))
        (unreachable))))

  ;; Both parts see the function's locals. Their walks start outside of the block.
  (func $computes (param $main stackref) (param $n i32)
    (stack.redirect_to
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (local.get_clear $main)
     then
      (local.set_cleared $main)
      (local.set $n (i32.add (local.get $n) (i32.const 10)))
     within
      (drop (call_stack $ask (i32.const 0)))
      (drop (call_stack $ask (i32.const 0))))
    (stack.switch_drop $done (local.get $n) (local.get_clear $main)))
  (func $computes-0 (param $main stackref) (call $computes (local.get_clear $main) (i32.const 0)))
  (func (export "locals") (result i32)
    (answer $ask (result i32) within
      (block $done (result i32)
        (try (stack.switch_call $computes-0 (call $new)) catch $done $done)
        (unreachable))))
  (func $outside (param $main stackref)
    (local $n i32)
    (answer $ask (i32.add (i32.const 1000)) within
      (stack.redirect_to
        (local.set $n (call_stack $ask (i32.const 1)))
        (local.get_clear $main)
       then
        (local.set_cleared $main)
        (local.set $n (i32.add (local.get $n) (call_stack $ask (i32.const 2))))
       within
        (local.set $n (i32.add (call_stack $ask (i32.const 5)) (local.get $n)))))
    (stack.switch_drop $done (local.get $n) (local.get_clear $main)))
  (func (export "walks of its parts") (result i32)
    (answer $ask (result i32) (i32.mul (i32.const 2)) within
      (block $done (result i32)
        (try (stack.switch_call $outside (call $new)) catch $done $done)
        (unreachable))))

  ;; Nested redirections: the inner one computes null, and receives null back.
  (func $both (param $main stackref)
    (local $null stackref) (local $told i32)
    (stack.redirect $main
      (stack.redirect_to
        (local.get_clear $null)
       then
        (ref.is_null)
        (local.set $told (i32.add (local.get $told)))
       within
        (drop (call_stack $ask (i32.const 0)))))
    (stack.switch_drop $done (local.get $told) (local.get_clear $main)))
  (func (export "null, then another") (result i32)
    (answer $ask (result i32) within
      (block $done (result i32)
        (try (stack.switch_call $both (call $new)) catch $done $done)
        (unreachable))))
  ;; Plain form.
  (func (export "plain") (result i32)
    i32.const 1
    stack.redirect_to (param i32) (result i32)
      global.get_clear $host
    then
      global.set_cleared $host
    within
      i32.const 2
      i32.add
    end))

(assert_return (invoke "exception") (i32.const 5))
(assert_return (invoke "counts") (i32.const 1) (i32.const 0))
(assert_return (invoke "caught inside") (i32.const 6))
(assert_return (invoke "counts") (i32.const 0) (i32.const 0))
(assert_return (invoke "null") (i32.const 7))
(assert_return (invoke "walk") (i32.const 30))
(assert_return (invoke "counts") (i32.const 2) (i32.const 2))
(assert_return (invoke "the slot is empty during the walk") (i32.const 2))
(assert_return (invoke "counts") (i32.const 2) (i32.const 2))
(assert_trap (invoke "the slot is filled during the walk") "linear slot is not empty")
(invoke "clear")
(invoke "counts")
(assert_return (invoke "an answer throws") (i32.const 103))
(assert_return (invoke "counts") (i32.const 1) (i32.const 1))
(assert_return (invoke "an answer throws an uncaught exception") (i32.const 1))
(assert_return (invoke "counts") (i32.const 2) (i32.const 1))
(assert_return (invoke "locals") (i32.const 22))
(assert_return (invoke "walks of its parts") (i32.const 2013))
(assert_return (invoke "null, then another") (i32.const 1))
(assert_return (invoke "plain") (i32.const 3))
