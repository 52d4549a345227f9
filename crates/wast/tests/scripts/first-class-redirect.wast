;; `stack.redirect` forwards exceptions that reach it to the stack in its local.
;; It frees the stack that they came from.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (tag $x (param i32))
  (tag $y)
  (event $done (param i32))
  (event $go (param stackref))
  (event $ready (param stackref))

  (func $throws (throw $x (i32.const 7)))
  (func $calls (call $throws) (unreachable))
  (func $redirected (param $main stackref)
    (stack.redirect $main (call $calls)))
  (func (export "exception") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.switch_call $redirected (call $new)))
      (unreachable)))
  (func (export "uncaught") (stack.switch_call $redirected (call $new)))
  (func (export "many") (param $n i32)
    (loop $next
      (block $x (result i32)
        (try_table (catch $x $x) (stack.switch_call $redirected (call $new)))
        (unreachable))
      (drop)
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; The exception is caught inside, so nothing is redirected. The body's results are returned, and
  ;; the local keeps its stack.
  (func $inside (param $main stackref)
    (stack.redirect $main (result i32)
      (block $x (result i32)
        (try_table (catch $x $x) (call $calls))
        (unreachable)))
    (call $finish (local.get_clear $main)))
  (func $finish (param $n i32) (param $main stackref)
    (stack.switch_drop $done (local.get $n) (local.get_clear $main)))
  (func (export "caught inside") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $inside (call $new)) catch $done $done)
      (unreachable)))

  ;; With null, the exception propagates from here.
  (func (export "null") (result i32)
    (local $null stackref)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.redirect $null (call $calls)))
      (unreachable)))
  ;; The value of the local when the exception arrives counts.
  (func $cleared (param $main stackref)
    (local $kept stackref)
    (block $x (result i32)
      (try_table (catch $x $x)
        (stack.redirect $main
          (local.set_cleared $kept (local.get_clear $main))
          (call $calls)))
      (unreachable))
    (call $finish (local.get_clear $kept)))
  (func (export "cleared in between") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $cleared (call $new)) catch $done $done)
      (unreachable)))
  (func $set (param $main stackref)
    (local $to stackref)
    (stack.redirect $to
      (local.set_cleared $to (local.get_clear $main))
      (call $calls)))
  (func (export "set in between") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.switch_call $set (call $new)))
      (unreachable)))

  ;; The same with parameters and results, in plain form.
  (func (export "block type") (result i32)
    (local $null stackref)
    i32.const 4
    stack.redirect $null (param i32) (result i32)
      i32.const 3
      i32.add
    end)
  ;; After a branch leaves the block, an exception is not redirected.
  (func $left (param $main stackref)
    (block $out
      (stack.redirect $main (br $out)))
    (block $x (result i32)
      (try_table (catch $x $x) (call $calls))
      (unreachable))
    (call $finish (local.get_clear $main)))
  (func (export "left by a branch") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $left (call $new)) catch $done $done)
      (unreachable)))

  ;; The exception passes several stacks until it is caught.
  (func $chain (param $n i32) (param $below stackref)
    (if (i32.eqz (local.get $n)) (then (stack.redirect $below (call $throws))))
    (stack.redirect $below
      (stack.switch_call $chain (i32.sub (local.get $n) (i32.const 1)) (call $new))))
  (func (export "several deep") (param $n i32) (result i32)
    (block $x (result i32)
      (try_table (catch $x $x)
        (stack.switch_call $chain (local.get $n) (call $new)))
      (unreachable)))
  (func (export "several deep, uncaught") (param $n i32)
    (stack.switch_call $chain (local.get $n) (call $new)))

  ;; A rout that redirects: events that it does not catch are forwarded to another stack.
  (rout $forwards (param $to stackref)
    (stack.redirect $to (stack.start)))
  (func $forward (param $main stackref)
    (stack.switch_drop $done (i32.const 9)
      (stack.extend $forwards (local.get_clear $main) (call $new))))
  (func (export "a rout that redirects") (result i32)
    (block $done (result i32)
      (try (stack.switch_call $forward (call $new)) catch $done $done)
      (unreachable)))

  ;; Traps are not redirected.
  (func $traps (param $main stackref) (stack.redirect $main (unreachable)))
  (func (export "trap") (result i32)
    (block $all
      (try_table (catch_all $all) (stack.switch_call $traps (call $new)))
      (unreachable))
    (i32.const 1)))

(assert_return (invoke "exception") (i32.const 7))
(assert_exception (invoke "uncaught"))
(assert_return (invoke "many" (i32.const 1000)))
(assert_return (invoke "caught inside") (i32.const 7))
(assert_return (invoke "null") (i32.const 7))
(assert_return (invoke "cleared in between") (i32.const 7))
(assert_return (invoke "set in between") (i32.const 7))
(assert_return (invoke "block type") (i32.const 7))
(assert_return (invoke "left by a branch") (i32.const 7))
(assert_return (invoke "several deep" (i32.const 0)) (i32.const 7))
(assert_return (invoke "several deep" (i32.const 1)) (i32.const 7))
(assert_return (invoke "several deep" (i32.const 50)) (i32.const 7))
(assert_exception (invoke "several deep, uncaught" (i32.const 3)))
(assert_return (invoke "a rout that redirects") (i32.const 9))
(assert_trap (invoke "trap") "unreachable")
