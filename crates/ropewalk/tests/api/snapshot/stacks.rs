//! Snapshots of suspended stacks of every design, in globals, tables and objects.

use super::*;

/// Calls `begin`, then `step` in the store and in a restored one, and compares the results. Then
/// saves and restores the store at each step.
fn steps_continue(source: &str, steps: i32) {
    let module = Module::new(&engine(), source).unwrap();
    let (mut store, instance) = start(&module);
    call::<()>(&mut store, instance, "begin");
    let (mut other, same) = restored(&module, &mut store, instance);
    let expected: Vec<i32> = (0..steps).map(|_| call(&mut store, instance, "step")).collect();
    let found: Vec<i32> = (0..steps).map(|_| call(&mut other, same, "step")).collect();
    assert_eq!(found, expected);
    let mut store = Store::new(module.engine(), ());
    let mut instance = Instance::new(&mut store, &module, &[]).unwrap();
    call::<()>(&mut store, instance, "begin");
    let mut found = Vec::new();
    for _ in 0..steps {
        (store, instance) = restored(&module, &mut store, instance);
        found.push(call::<i32>(&mut store, instance, "step"));
    }
    assert_eq!(found, expected);
}

/// The same for a module with a continuation that runs `$body` and suspends with `$yield`.
fn generator_continues(fields: &str, steps: i32) {
    let source = format!(
        r#"(module
          (type $f (func)) (type $c (cont $f)) (tag $yield (param i32))
          (global $rest (mut (ref null $c)) (ref.null $c)) (elem declare func $body)
          {fields}
          (func (export "begin") (global.set $rest (cont.new $c (ref.func $body))))
          (func (export "step") (result i32)
            (block $on (result i32 (ref $c))
              (resume $c (on $yield $on) (global.get $rest)) (return (i32.const -1)))
            (global.set $rest)))"#
    );
    steps_continue(&source, steps);
}

#[test]
fn a_restored_generator_continues() {
    let fields = r#"
        (func $inner (param $n i32) (suspend $yield (i32.mul (local.get $n) (local.get $n))))
        (func $body (local $i i32)
          (loop $next
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (call $inner (local.get $i)) (br $next)))"#;
    generator_continues(fields, 5);
}

#[test]
fn values_of_every_type_survive_in_frames() {
    let fields = r#"
        (type $add (func (param i32 i32) (result i32)))
        (type $pair (struct (field $a i32) (field $next (ref null $pair))))
        (memory 1) (table $t 4 funcref)
        (func $sum (type $add) (i32.add (local.get 0) (local.get 1)))
        (elem declare func $sum)
        (func $pause (param i32) (suspend $yield (local.get 0)))
        (func $body (local $i i32) (local $l i64) (local $f f32) (local $d f64) (local $v v128)
          (local $p (ref null $pair)) (local $fun (ref null $add)) (local $x anyref)
          (local.set $l (i64.const 0x123456789abcdef0))
          (local.set $f (f32.const 1.5)) (local.set $d (f64.const 2.25))
          (local.set $v (v128.const i32x4 1 2 3 4))
          (local.set $fun (ref.func $sum))
          (local.set $x (ref.i31 (i32.const 77)))
          (loop $next
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (local.set $p (struct.new $pair (local.get $i) (local.get $p)))
            (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 3)))
            (call $pause
              (call_ref $add
                (i32.add (i32.trunc_f64_s (f64.mul (f64.promote_f32 (local.get $f)) (local.get $d)))
                  (i32.add (i32.wrap_i64 (i64.shr_u (local.get $l) (i64.const 60)))
                    (i32x4.extract_lane 2 (local.get $v))))
                (i32.add (struct.get $pair $a (local.get $p))
                  (i32.add (i31.get_s (ref.cast (ref i31) (local.get $x)))
                    (i32.load (i32.const 8))))
                (local.get $fun)))
            (local.set $v (i32x4.add (local.get $v) (v128.const i32x4 1 1 1 1)))
            (local.set $f (f32.add (local.get $f) (f32.const 1))) (br $next)))"#;
    generator_continues(fields, 6);
}

#[test]
fn bound_arguments_survive() {
    let source = r#"(module
          (type $s (struct (field i32)))
          (type $add (func (param i32 i64 (ref null $s) i32) (result i32))) (type $c4 (cont $add))
          (type $f (func (param i32) (result i32))) (type $c1 (cont $f))
          (table $t 3 (ref null $c1))
          (global $at (mut i32) (i32.const 0))
          (func $body (type $add)
            (i32.add (i32.add (local.get 0) (i32.wrap_i64 (local.get 1)))
              (i32.add (struct.get $s 0 (local.get 2)) (local.get 3))))
          (elem declare func $body)
          (func $put (param i32)
            (table.set $t (local.get 0)
              (cont.bind $c4 $c1 (i32.mul (local.get 0) (i32.const 100)) (i64.const 10)
                (struct.new $s (i32.const 1000)) (cont.new $c4 (ref.func $body)))))
          (func (export "begin") (call $put (i32.const 0)) (call $put (i32.const 1)) (call $put (i32.const 2)))
          (func (export "step") (result i32)
            (resume $c1 (i32.const 5) (table.get $t (global.get $at)))
            (global.set $at (i32.add (global.get $at) (i32.const 1)))))"#;
    steps_continue(source, 3);
}

#[test]
fn a_chain_of_stacks_survives_with_its_handlers() {
    let fields = r#"
        (tag $in (param i32))
        (elem declare func $inner)
        (func $inner (local $i i32)
          (loop $next
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (suspend $in (local.get $i))
            (suspend $yield (i32.mul (local.get $i) (i32.const 10))) (br $next)))
        (func $body (local $c (ref null $c))
          (local.set $c (cont.new $c (ref.func $inner)))
          (loop $next
            (block $on (result i32 (ref $c)) (resume $c (on $in $on) (local.get $c)) (return))
            (local.set $c)
            (suspend $yield (i32.add (i32.const 1000))) (br $next)))"#;
    generator_continues(fields, 7);
}

#[test]
fn exceptions_are_caught_by_frames_that_were_restored() {
    let fields = r#"
        (tag $e (param i32)) (global $kept (mut exnref) (ref.null exn))
        (func $thrower (param i32)
          (suspend $yield (local.get 0))
          (throw $e (i32.add (local.get 0) (i32.const 7))))
        (func $body (local $i i32)
          (loop $next
            (local.set $i
              (block $caught (result i32)
                (try_table (catch $e $caught) (call $thrower (local.get $i)))
                (unreachable)))
            (br $next)))"#;
    generator_continues(fields, 5);
}

#[test]
fn stacks_of_the_bag_survive() {
    let source = r#"(module
          (rec (type $to-root (stack (param i32) (ref null $to-body)))
               (type $to-body (stack (ref null $to-root))))
          (global $body (mut (ref null $to-body)) (ref.null $to-body))
          (func $run (param $root (ref null $to-root)) (local $i i32)
            (loop $next
              (local.set $i (i32.add (local.get $i) (i32.const 3)))
              (local.set $root (switch $to-root (local.get $i) (local.get $root)))
              (br $next)))
          (func (export "begin") (global.set $body (stack.new $to-body $run)))
          (func (export "step") (result i32)
            (switch $to-body (global.get $body)) (global.set $body)))"#;
    steps_continue(source, 5);
}

#[test]
fn new_and_suspended_tasks_survive_with_their_arguments() {
    let source = r#"(module
          (type $t (taskref (i32) (i32))) (type $s (struct (field i32)))
          (global $task (mut (ref null $t)) (ref.null $t))
          (func $run (param $me (ref null $t)) (param $first i32) (param $by i32) (param $s (ref null $s))
            (result i32) (local $sum i32)
            (local.set $sum (local.get $first))
            (loop $next
              (local.set $sum
                (i32.add (i32.add (local.get $sum) (local.get $by))
                  (i32.add (struct.get $s 0 (local.get $s))
                    (task.suspend $t (local.get $me) (local.get $sum)))))
              (br $next))
            (unreachable))
          (func (export "begin")
            (global.set $task (task.new $t $run (i32.const 100) (struct.new $s (i32.const 1000)))))
          (func (export "step") (result i32) (task.resume $t (global.get $task) (i32.const 1))))"#;
    steps_continue(source, 5);
}

#[test]
fn fibers_survive_new_and_dismounted() {
    let source = r#"(module
          (type $s (struct (field i32))) (tag $yield (param i32)) (tag $next) (tag $end)
          (global $fiber (mut fiberref) (ref.null fiber))
          (func $run (param $s (ref null $s)) (param $by i32) (param $this fiberref) (local $i i32)
            (loop $more
              (local.set $i (i32.add (local.get $i) (i32.add (local.get $by) (struct.get $s 0 (local.get $s)))))
              (block $again
                (fiber.dismount $yield (on $next $again) (local.get $i) (local.get $this))
                (unreachable))
              (br $more)))
          (func (export "begin")
            (global.set $fiber
              (fiber.new $end (on $next $run) (struct.new $s (i32.const 1000)) (i32.const 7))))
          (func (export "step") (result i32)
            (block $ended
              (block $yielded (result i32)
                (fiber.mount $next (on $yield $yielded) (on $end $ended) (global.get $fiber))
                (unreachable))
              (return))
            (i32.const -1)))"#;
    steps_continue(source, 5);
}

/// Stacks that are suspended together are parked together. A root, or a stack that is too large,
/// prevents it.
#[test]
fn a_chain_with_a_large_stack_is_restored_as_one() {
    let source = r#"
    (module
      (type $f (func (result i32))) (type $c (cont $f)) (tag $out (param i32))
      (global $rest (mut (ref null $c)) (ref.null $c))
      (elem declare func $inner $outer)
      (func $down (param $n i32) (result i32)
        (if (result i32) (local.get $n)
          (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
          (else (suspend $out (i32.const 7)) (i32.const 0))))
      (func $inner (result i32) (call $down (i32.const 20000)))
      (func $outer (result i32) (i32.add (i32.const 1) (resume $c (cont.new $c (ref.func $inner)))))
      (func (export "begin") (global.set $rest (cont.new $c (ref.func $outer))))
      (func (export "step") (result i32)
        (block $on (result i32 (ref $c)) (return (resume $c (on $out $on) (global.get $rest))))
        (global.set $rest)))"#;
    let config = ropewalk::stress::CHECK.config().snapshots(true).max_wasm_stack(8 << 20).clone();
    let module = Module::new(&Engine::new(&config).unwrap(), source).unwrap();
    let (mut store, instance) = start(&module);
    call::<()>(&mut store, instance, "begin");
    assert_eq!(call::<i32>(&mut store, instance, "step"), 7);
    let (mut other, same) = restored(&module, &mut store, instance);
    assert_eq!(other.stack_statistics().parked, 0);
    assert_eq!(call::<i32>(&mut other, same, "step"), 20_001);
}
