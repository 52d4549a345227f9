;; An answer may switch stacks, suspend and resume.
;; It runs on top of the calling stack and continues there.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (type $f (func (result i32)))
  (type $k (cont $f))
  (type $n (func (param i32) (result i32)))
  (type $kn (cont $n))
  (tag $yield (param i32) (result i32))
  (tag $x (param i32))
  (elem declare func $awaits $adds-three)
  (event $awaiting (param i32 stackref))
  (event $resolving (param i32 stackref))
  (event $rejecting (param i32 stackref))
  (event $done (param i32))
  (call_tag $await (param i32) (result i32))
  (global $waiting (mut stackref) (ref.null stack))

  (func $awaits (result i32)
    (i32.add (call_stack $await (i32.const 1)) (call_stack $await (i32.const 2))))

  ;; Waits by switching back to the stack that currently runs this one.
  (func $root (param $host stackref)
    (local $promise i32) (local $output i32)
    (stack.redirect $host
      (answer $await
        (local.set $promise)
        (block $resolved (result i32 stackref)
          (block $rejected (result i32 stackref)
            (try
              (stack.switch $awaiting (local.get $promise) (local.get_clear $host))
              catch $resolving $resolved
              catch $rejecting $rejected)
            (unreachable))
          (local.set_cleared $host)
          (throw $x))
        (local.set_cleared $host)
       within
        (local.set $output (call $awaits))))
    (stack.switch_drop $done (local.get $output) (local.get_clear $host)))

  (func (export "start") (result i32)
    (block $done (result i32)
      (block $awaiting (result i32 stackref)
        (try
          (stack.switch_call $root (call $new))
          catch $awaiting $awaiting
          catch $done $done)
        (unreachable))
      (global.set_cleared $waiting)))
  (func (export "resolve") (param $n i32) (result i32)
    (block $done (result i32)
      (block $awaiting (result i32 stackref)
        (try
          (stack.switch $resolving (local.get $n) (global.get_clear $waiting))
          catch $awaiting $awaiting
          catch $done $done)
        (unreachable))
      (global.set_cleared $waiting)))
  ;; The answer throws. The exception leaves the program and is redirected to the stack that
  ;; rejected.
  (func (export "reject") (param $n i32) (result i32)
    (block $x (result i32)
      (try_table (catch $x $x)
        (stack.switch $rejecting (local.get $n) (global.get_clear $waiting)))
      (unreachable))
    (i32.add (i32.const 1000)))
  (func (export "reject, uncaught") (param $n i32)
    (stack.switch $rejecting (local.get $n) (global.get_clear $waiting)))

  ;; An answer that suspends, from the call.
  (func $adds-three (result i32)
    (i32.add (call_stack $await (i32.const 3)) (i32.const 100)))
  (func (export "suspends") (result i32 i32)
    (local $k (ref null $kn)) (local $n i32) (local $count i32)
    (answer $await (result i32)
      (suspend $yield)
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
     within
      (block $yield (result i32 (ref $kn))
        (drop (resume $k (on $yield $yield) (cont.new $k (ref.func $adds-three))))
        (unreachable))
      (local.set $k)
      (local.set $n)
      ;; The continuation still contains the answer, which continues with the locals.
      (resume $kn (i32.mul (local.get $n) (i32.const 10)) (local.get $k)))
    (local.get $count))
  (func (export "suspends without a handler") (result i32)
    (answer $await (result i32) (suspend $yield) within
      (call_stack $await (i32.const 1))))

  ;; The walk follows parents. The answer encloses the `resume`.
  (func (export "through a continuation") (param $n i32) (result i32)
    (answer $await (result i32) (i32.mul (local.get $n)) within
      (resume $k (cont.new $k (ref.func $awaits)))))
  ;; A continuation finds the answer at its current `resume`.
  (elem declare func $yields-and-awaits)
  (func $yields-and-awaits (result i32)
    (i32.add (call_stack $await (suspend $yield (i32.const 0)))
      (call_stack $await (i32.const 5))))
  (func $begin (result (ref $kn))
    (local $k (ref null $kn))
    (answer $await (unreachable) within
      (block $yield (result i32 (ref $kn))
        (drop (resume $k (on $yield $yield) (cont.new $k (ref.func $yields-and-awaits))))
        (unreachable))
      (local.set $k)
      (drop))
    (ref.as_non_null (local.get $k)))
  (func (export "where it is resumed") (result i32)
    (local $k (ref null $kn))
    (local.set $k (call $begin))
    (answer $await (result i32) (i32.add (i32.const 1)) within
      (resume $kn (i32.const 4) (local.get $k)))))

(assert_return (invoke "start") (i32.const 1))
(assert_return (invoke "resolve" (i32.const 10)) (i32.const 2))
(assert_return (invoke "resolve" (i32.const 20)) (i32.const 30))
(assert_return (invoke "start") (i32.const 1))
(assert_return (invoke "resolve" (i32.const 10)) (i32.const 2))
(assert_return (invoke "reject" (i32.const 7)) (i32.const 1007))
(assert_trap (invoke "resolve" (i32.const 1)) "null stack reference")
(assert_return (invoke "start") (i32.const 1))
(assert_exception (invoke "reject, uncaught" (i32.const 7)))
(assert_return (invoke "suspends") (i32.const 130) (i32.const 1))
(assert_suspension (invoke "suspends without a handler") "unhandled tag")
(assert_return (invoke "through a continuation" (i32.const 4)) (i32.const 12))
(assert_return (invoke "where it is resumed") (i32.const 11))
