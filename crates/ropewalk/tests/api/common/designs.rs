//! The same program in each design: `sum` adds squares from a generator, then calls the host while
//! the generator is suspended.

use super::{call_back, instances_with_host, number};
use ropewalk::{Caller, Result, StackKind};

/// `run` calls the host on a stack, and returns what the host returns.
pub fn a_stack_can_call_the_host(module: &str) {
    for (mut store, instance) in instances_with_host(module, |x: i32| x * 100) {
        assert_eq!(number(&mut store, instance, "run", &[7]).unwrap(), 700);
        assert_eq!(number(&mut store, instance, "run", &[8]).unwrap(), 800);
    }
}

/// An activation suspends a stack, another one resumes it, and an inner one does both. The module
/// exports `keep`, `add`, and `run`, which calls the host.
pub fn another_activation_can_resume(module: &str) {
    let host =
        |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> { call_back(&mut caller, "add", x) };
    for (mut store, instance) in instances_with_host(module, host) {
        number(&mut store, instance, "keep", &[0]).unwrap();
        assert_eq!(number(&mut store, instance, "add", &[1]).unwrap(), 1);
        // An inner activation resumes it, then an outer one.
        assert_eq!(number(&mut store, instance, "run", &[2]).unwrap(), 3);
        assert_eq!(number(&mut store, instance, "add", &[3]).unwrap(), 6);
    }
}

/// A design, and the program.
pub const DESIGNS: [(StackKind, &str); 5] = [
    (StackKind::Continuation, CONTINUATION),
    (StackKind::Bag, BAG),
    (StackKind::Task, TASK),
    (StackKind::Fiber, FIBER),
    (StackKind::FirstClass, FIRST_CLASS),
];

const CONTINUATION: &str = r#"(module $m
  (import "host" "f" (func $look))
  (type $body (func)) (type $generator (cont $body)) (tag $yield (param i32))
  (func $squares (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (suspend $yield (i32.mul (local.get $i) (local.get $i))) (br $next)))
  (elem declare func $squares)
  (func $sum (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $generator)) (local $sum i32)
    (local.set $generator (cont.new $generator (ref.func $squares)))
    (loop $more
      (block $yielded (result i32 (ref $generator))
        (resume $generator (on $yield $yielded) (local.get $generator)) (unreachable))
      (local.set $generator)
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $look)
    (drop (ref.is_null (local.get $generator)))
    (local.get $sum)))"#;

const BAG: &str = r#"(module $m
  (import "host" "f" (func $look))
  (rec
    (type $consumer (stack (param i32) (ref null $generator)))
    (type $generator (stack (ref null $consumer))))
  (func $squares (param $consumer (ref null $consumer)) (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $consumer
        (switch $consumer (i32.mul (local.get $i) (local.get $i)) (local.get $consumer)))
      (br $next)))
  (func $sum (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $generator)) (local $sum i32)
    (local.set $generator (stack.new $generator $squares))
    (loop $more
      (switch $generator (local.get $generator)) (local.set $generator)
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $look)
    (drop (ref.is_null (local.get $generator)))
    (local.get $sum)))"#;

const TASK: &str = r#"(module $m
  (import "host" "f" (func $look))
  (type $generator (task (result i32)))
  (func $squares (param $me (ref null $generator)) (result i32) (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (task.suspend $generator (local.get $me) (i32.mul (local.get $i) (local.get $i)))
      (br $next))
    (unreachable))
  (func $sum (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $generator)) (local $sum i32)
    (local.set $generator (task.new $generator $squares))
    (loop $more
      (task.resume $generator (local.get $generator))
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $look)
    (task.release $generator (local.get $generator))
    (local.get $sum)))"#;

const FIBER: &str = r#"(module $m
  (import "host" "f" (func $look))
  (tag $next) (tag $yield (param i32))
  (func $squares (param $me fiberref) (local $i i32)
    (loop $again
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (fiber.dismount $yield (on $next $again)
        (i32.mul (local.get $i) (local.get $i)) (local.get $me))
      (unreachable)))
  (func $sum (export "sum") (param $count i32) (result i32)
    (local $generator fiberref) (local $sum i32)
    (local.set $generator (fiber.new (on $next $squares)))
    (loop $more
      (block $yielded (result i32)
        (fiber.mount $next (on $yield $yielded) (local.get $generator)) (unreachable))
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $look)
    (fiber.release (local.get $generator))
    (local.get $sum)))"#;

const FIRST_CLASS: &str = r#"(module $m
  (import "host" "f" (func $look))
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (event $next (param stackref)) (event $yield (param i32 stackref))
  (rout $generator
    (block $first (result stackref)
      (try (stack.start) catch $next $first) (unreachable))
    (call $squares))
  (func $squares (param $consumer stackref) (local $i i32)
    (loop $again
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (block $next (result stackref)
        (try
          (stack.switch $yield (i32.mul (local.get $i) (local.get $i)) (local.get_clear $consumer))
          catch $next $next)
        (unreachable))
      (local.set_cleared $consumer) (br $again)))
  (func $sum (export "sum") (param $count i32) (result i32)
    (local $generator stackref) (local $sum i32)
    (local.set_cleared $generator (stack.extend $generator (call $new-stack)))
    (loop $more
      (block $yielded (result i32 stackref)
        (try (stack.switch $next (local.get_clear $generator)) catch $yield $yielded)
        (unreachable))
      (local.set_cleared $generator)
      (local.set $sum (i32.add (local.get $sum)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $look)
    (local.get $sum)))"#;
