//! Fibers and the host: garbage, calls in both directions, activations, generations, overflow, and
//! all designs in one module.
//!
//! Also while stacks move and while every allocation collects.

use crate::common::*;
use ropewalk::*;

fn live(store: &mut Store<()>) -> usize {
    store.gc();
    store.stack_statistics().live
}

/// A table of fibers that count.
const COUNTERS: &str = r#"
    (tag $go) (tag $stop) (tag $give (param i32)) (tag $done (param i32))
    (table $t 200 fiberref)
    (func $count (param $n i32) (param $self fiberref) (result i32)
      (block $stop
        (loop $more
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (fiber.dismount $give (on $go $more) (on $stop $stop) (local.get $n) (local.get $self))))
      (i32.mul (local.get $n) (i32.const 100)))
    (func (export "make") (param $i i32)
      (table.set $t (local.get $i) (fiber.new $done (on $go $count) (i32.mul (local.get $i) (i32.const 10)))))
    (func (export "make and enter") (param $i i32) (local $n i32)
      (block $give (result (ref fiber) i32)
        (fiber.mount_new $done $count (on $give $give) (i32.mul (local.get $i) (i32.const 10)))
        (unreachable))
      (local.set $n) (call $keep (local.get $i)))
    (func $keep (param $f fiberref) (param $i i32) (table.set $t (local.get $i) (local.get $f)))
    (func $next (export "next") (param $i i32) (result i32)
      (block $give (result i32)
        (fiber.mount $go (on $give $give) (table.get $t (local.get $i)))
        (i32.const -1)))
    (func (export "finish") (param $i i32) (result i32)
      (block $done (result i32)
        (fiber.mount $stop (on $done $done) (table.get $t (local.get $i)))
        (i32.const -1)))
    (func (export "release") (param $i i32) (result i32)
      (fiber.release (table.get $t (local.get $i))) (i32.const 0))
    (func (export "dismount") (param $i i32) (result i32)
      (fiber.dismount $stop (table.get $t (local.get $i))) (i32.const -1))
    (func (export "forget") (param $i i32) (table.set $t (local.get $i) (ref.null fiber)))
    (func (export "copy") (param $to i32) (param $from i32)
      (table.set $t (local.get $to) (table.get $t (local.get $from))))
"#;

fn counters(engine: &Engine) -> (Store<()>, Instance) {
    instantiate_in(engine, format!("(module {COUNTERS})"))
}

// ---- garbage

const HOLDERS: &str = r#"(module
    (tag $go) (tag $give (param i32)) (tag $done (param i32))
    (type $box (struct (field $f (mut fiberref))))
    (global $box (mut (ref null $box)) (ref.null $box))
    (table $t 10 fiberref)

    ;; It holds another in its frame, and nothing else does.
    (func $holds (param $self fiberref) (result i32) (local $inner fiberref) (local $n i32)
      (local.set $inner (fiber.new $done (on $go $held)))
      (loop $more
        (local.set $n (block $give (result i32)
          (fiber.mount $go (on $give $give) (local.get $inner)) (unreachable)))
        (fiber.dismount $give (on $go $more) (local.get $n) (local.get $self)))
      (unreachable))
    (func $held (param $self fiberref) (result i32) (local $n i32)
      (loop $more
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (fiber.dismount $give (on $go $more) (local.get $n) (local.get $self)))
      (unreachable))
    (func (export "box") (global.set $box (struct.new $box (fiber.new $done (on $go $holds)))))
    (func (export "next") (result i32)
      (block $give (result i32)
        (fiber.mount $go (on $give $give) (struct.get $box $f (global.get $box)))
        (unreachable)))
    (func (export "forget") (global.set $box (ref.null $box)))

    ;; A ring of fibers. Each has the next in a struct. They are new, or
    ;; wait with the struct in their frame.
    (func $in-ring (param $next (ref $box)) (param $self fiberref) (result i32)
      (fiber.dismount $give (i32.const 1) (local.get $self))
      (ref.is_null (struct.get $box $f (local.get $next))))
    (func (export "ring") (param $n i32) (param $enter i32)
      (local $first (ref $box)) (local $box (ref $box)) (local $f fiberref)
      (local.set $first (struct.new $box (ref.null fiber)))
      (local.set $box (local.get $first))
      (loop $more
        (local.set $f (fiber.new $done (on $go $in-ring) (local.get $box)))
        (if (local.get $enter)
          (then (drop (block $give (result i32)
            (fiber.mount $go (on $give $give) (local.get $f)) (unreachable)))))
        (local.set $box (struct.new $box (local.get $f)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (struct.set $box $f (local.get $first) (local.get $f))))"#;

#[test]
fn a_fiber_in_a_struct_and_one_in_its_frame_are_alive() {
    for (mut store, instance) in instances(HOLDERS) {
        call(&mut store, instance, "box", &[]).unwrap();
        assert_eq!(live(&mut store), 1);
        for n in 1..10 {
            assert_eq!(call_i32(&mut store, instance, "next"), n);
            assert_eq!(live(&mut store), 2);
        }
        call(&mut store, instance, "forget", &[]).unwrap();
        assert_eq!(live(&mut store), 0);
    }
}

#[test]
fn rings_of_fibers_are_reclaimed() {
    for (mut store, instance) in instances(HOLDERS) {
        for enter in [0, 1] {
            number(&mut store, instance, "ring", &[30, enter]).unwrap();
            assert_eq!(live(&mut store), 0, "entered: {enter}");
        }
    }
    // The store collects on its own when there are no more stacks.
    let engine = Engine::new(Config::new().max_stacks(50)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, HOLDERS);
    for i in 0..100 {
        number(&mut store, instance, "ring", &[30, i % 2]).unwrap();
    }
}

#[test]
fn ended_stacks_are_not_alive() {
    for (mut store, instance) in engines().iter().map(counters) {
        for i in 0..4 {
            number(&mut store, instance, "make", &[i]).unwrap();
            number(&mut store, instance, "next", &[i]).unwrap();
        }
        assert_eq!(live(&mut store), 4);
        assert_eq!(number(&mut store, instance, "finish", &[1]).unwrap(), 1100);
        number(&mut store, instance, "release", &[2]).unwrap();
        assert_eq!(store.stack_statistics().live, 2);
        for i in [1, 2] {
            traps(number(&mut store, instance, "next", &[i]), TrapCode::FiberMoribund);
            number(&mut store, instance, "release", &[i]).unwrap();
        }
        assert_eq!(number(&mut store, instance, "next", &[3]).unwrap(), 32);
    }
}

#[test]
fn a_dropped_store_drops_the_values_of_its_fibers() {
    use std::sync::Arc;
    let text = r#"(module
        (tag $go) (tag $give) (global $f (mut fiberref) (ref.null fiber))
        (func $holds (param $x externref) (param $self fiberref)
          (block $go (fiber.dismount $give (on $go $go) (local.get $self)))
          (drop (ref.as_non_null (local.get $x))))
        (func (export "hold") (param externref)
          (global.set $f (fiber.new (on $go $holds) (local.get 0)))
          (block $give (fiber.mount $go (on $give $give) (global.get $f)))))"#;
    let (mut store, instance) = instantiate(text);
    let value = Arc::new(());
    {
        let mut scope = RootScope::new(&mut store);
        let held = ExternRef::new(&mut scope, Arc::clone(&value)).unwrap();
        let hold = instance.get_func(&mut scope, "hold").unwrap();
        hold.call(&mut scope, &[Val::ExternRef(Some(held))], &mut []).unwrap();
    }
    store.gc();
    assert_eq!(Arc::strong_count(&value), 2);
    drop(store);
    assert_eq!(Arc::strong_count(&value), 1);
}

// ---- the host

/// Fiber 0 calls the host and yields the result.
fn calling() -> String {
    format!(
        r#"(module (import "host" "f" (func $f (param i32) (result i32))) {COUNTERS}
        (func $calls (param $self fiberref) (result i32)
          (fiber.dismount $give (call $f (i32.const 7)) (local.get $self)) (unreachable))
        (func (export "run") (param i32) (result i32)
          (table.set $t (i32.const 0) (fiber.new $done (on $go $calls)))
          (call $next (i32.const 0))))"#
    )
}

#[test]
fn a_fiber_can_call_the_host_which_runs_other_fibers() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        Ok(x + call_back(&mut caller, "next", 3)? + call_back(&mut caller, "next", 3)?)
    };
    for (mut store, instance) in instances_with_host(&calling(), host) {
        number(&mut store, instance, "make", &[3]).unwrap();
        assert_eq!(number(&mut store, instance, "run", &[0]).unwrap(), 7 + 31 + 32);
        // A fiber that an inner activation suspended continues in any other.
        assert_eq!(number(&mut store, instance, "next", &[3]).unwrap(), 33);
        assert_eq!(number(&mut store, instance, "finish", &[3]).unwrap(), 3300);
    }
}

#[test]
fn a_fiber_that_an_outer_activation_runs_is_in_use() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        traps(call_back(&mut caller, "next", 0), TrapCode::FiberHasParent);
        traps(call_back(&mut caller, "dismount", 0), TrapCode::FiberNotRunning);
        traps(call_back(&mut caller, "release", 0), TrapCode::FiberHasParent);
        Ok(x)
    };
    for (mut store, instance) in instances_with_host(&calling(), host) {
        assert_eq!(number(&mut store, instance, "run", &[0]).unwrap(), 7);
    }
}

#[test]
fn an_error_of_the_host_ends_the_fiber_that_called_it() {
    let host = |mut caller: Caller<'_, ()>, _: i32| -> Result<i32> {
        call_back(&mut caller, "next", 3)?;
        Err(anyhow::anyhow!("no more"))
    };
    for (mut store, instance) in instances_with_host(&calling(), host) {
        number(&mut store, instance, "make", &[3]).unwrap();
        for n in 0..3 {
            fails_because(number(&mut store, instance, "run", &[0]), "no more");
            traps(number(&mut store, instance, "next", &[0]), TrapCode::FiberMoribund);
            assert_eq!(number(&mut store, instance, "next", &[3]).unwrap(), 32 + 2 * n);
        }
        assert_eq!(live(&mut store), 1);
    }
}

#[test]
fn a_host_function_can_start_a_fiber() {
    let text = r#"(module
        (import "host" "f" (func $f (param i32 fiberref) (result i32)))
        (tag $go) (tag $done (param i32))
        (func (export "run") (result i32)
          (block $done (result i32)
            (fiber.mount $go (on $done $done) (fiber.new $done (on $go $f) (i32.const 5)))
            (unreachable))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        let ExternType::Func(ty) = module.imports().next().unwrap().ty().clone() else {
            panic!("it imports a function");
        };
        let f = Func::new(&mut store, ty, |_, arguments, results| {
            assert!(matches!(arguments[1], Val::ContRef(Some(_))));
            results[0] = Val::I32(arguments[0].i32().unwrap() + 1);
            Ok(())
        });
        let instance = Instance::new(&mut store, &module, &[f.unwrap().into()]).unwrap();
        assert_eq!(call_i32(&mut store, instance, "run"), 6);
        assert_eq!(live(&mut store), 0);
    }
}

// ---- generations

#[test]
fn references_to_fibers_that_ended_stay_moribund() {
    for engine in [0, 1, 2, 5].into_iter().flat_map(few_generations) {
        let (mut store, instance) = counters(&engine);
        let mut run = |name: &str, i: i32| number(&mut store, instance, name, &[i]);
        for i in 0..40 {
            run(if i % 2 == 0 { "make" } else { "make and enter" }, i).unwrap();
            for _ in 0..3 {
                run("next", i).unwrap();
            }
            match i % 3 {
                0 => drop(run("release", i).unwrap()),
                _ => assert_eq!(run("finish", i).unwrap() % 100, 0),
            }
            for stale in 0..=i {
                assert_eq!(code(run("next", stale)), TrapCode::FiberMoribund, "{stale} of {i}");
                traps(run("dismount", stale), TrapCode::FiberNotRunning);
                run("release", stale).unwrap();
            }
        }
    }
}

#[test]
fn one_fiber_outlives_the_generations_of_others() {
    for (mut store, instance) in few_generations(3).iter().map(counters) {
        let mut run = |name: &str, i: i32| number(&mut store, instance, name, &[i]);
        run("make", 0).unwrap();
        for n in 1..200 {
            assert_eq!(run("next", 0).unwrap(), n);
            run("make and enter", 1).unwrap();
            run("finish", 1).unwrap();
        }
    }
}

/// Tasks in their lowered form, beside fibers.
const TASKS: &str = r#"
    (rec (type $t.func (func (param i32) (result i32))) (type $t (cont $t.func)))
    (type $body (func (param (ref null $t) i32) (result i32)))
    (import "ropewalk:task" "new" (func $task.new (param (ref $body)) (result (ref $t))))
    (import "ropewalk:task" "resume" (func $task.resume (param (ref null $t) i32) (result i32)))
    (import "ropewalk:task" "suspend" (func $task.suspend (param (ref null $t) i32) (result i32)))
    (elem declare func $twice)
    (func $twice (param $self (ref null $t)) (param $n i32) (result i32)
      (call $task.suspend (local.get $self) (i32.mul (local.get $n) (i32.const 2))))
"#;

#[test]
fn fibers_and_tasks_take_turns_with_stacks() {
    let text = format!(
        r#"(module {TASKS} {COUNTERS}
        (table $tasks 200 (ref null $t))
        (func (export "make task") (param $i i32)
          (table.set $tasks (local.get $i) (call $task.new (ref.func $twice))))
        (func (export "resume") (param $i i32) (result i32)
          (call $task.resume (table.get $tasks (local.get $i)) (local.get $i))))"#
    );
    for engine in [0, 1, 4].into_iter().flat_map(few_generations) {
        let (mut store, instance) = instantiate_in(&engine, &text);
        let mut run = |name: &str, i: i32| number(&mut store, instance, name, &[i]);
        for i in 0..30 {
            run("make task", i).unwrap();
            assert_eq!(run("resume", i).unwrap(), 2 * i);
            assert_eq!(run("resume", i).unwrap(), i);
            run("make and enter", i).unwrap();
            assert_eq!(run("finish", i).unwrap(), (10 * i + 1) * 100);
            for stale in 0..=i {
                traps(run("next", stale), TrapCode::FiberMoribund);
                traps(run("resume", stale), TrapCode::TaskMoribund);
            }
        }
    }
}

// ---- limits

#[test]
fn too_many_fibers_trap_however_they_begin() {
    for (mut store, instance) in engines_with_max_stacks(30).iter().map(counters) {
        let mut run = |name: &str, i: i32| number(&mut store, instance, name, &[i]);
        (0..30).for_each(|i| assert!(run("make and enter", i).is_ok()));
        for name in ["make", "make and enter"] {
            assert_eq!(code(run(name, 30)), TrapCode::TooManyStacks, "{name}");
        }
        run("finish", 5).unwrap();
        run("make and enter", 5).unwrap();
    }
}

#[test]
fn deep_fibers_overflow_cleanly() {
    let text = r#"(module
        (tag $go) (tag $done (param i32))
        (func $down (param $n i32) (result i32)
          (if (result i32) (i32.eqz (local.get $n)) (then (i32.const 0))
            (else (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))))
        (func $deep (param $n i32) (param $self fiberref) (result i32) (call $down (local.get $n)))
        (func (export "run") (param i32) (result i32) (local $n i32)
          (fiber.mount_new $done $deep (local.get 0)) (local.set $n) (drop) (local.get $n)))"#;
    for (mut store, instance) in instances(text) {
        for _ in 0..3 {
            assert_eq!(number(&mut store, instance, "run", &[1000]).unwrap(), 1000);
            traps(number(&mut store, instance, "run", &[1 << 24]), TrapCode::CallStackExhausted);
        }
        assert_eq!(live(&mut store), 0);
    }
}

// ---- all designs

/// A stack of the bag runs a continuation, which runs a fiber, which runs a task. The innermost
/// function leaves each of them, and control returns with ten times the value sent.
fn all_designs() -> String {
    format!(
        r#"(module {TASKS}
        (type $s (stack (param i32) (ref null $s)))
        (type $kf (func (result i32))) (type $k (cont $kf))
        (type $kif (func (param i32) (result i32))) (type $ki (cont $kif))
        (tag $ask (param i32) (result i32))
        (tag $go) (tag $give (param i32)) (tag $answer (param i32)) (tag $done (param i32))
        (global $log (mut i32) (i32.const 0)) (global $root (mut (ref null $s)) (ref.null $s))
        (global $fiber (mut fiberref) (ref.null fiber))
        (global $task (mut (ref null $t)) (ref.null $t))
        (elem declare func $in-task $in-continuation)

        ;; Logs a number that was sent, and returns ten times as much.
        (func $sent (param i32) (result i32)
          (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0)))
          (i32.mul (local.get 0) (i32.const 10)))

        (func $in-task (param $self (ref null $t)) (param $sum i32) (result i32)
          (local.set $sum (i32.add (local.get $sum) (suspend $ask (i32.const 1))))
          (switch $s (i32.const 2) (global.get $root)) (global.set $root)
          (local.set $sum (i32.add (local.get $sum)))
          (block $answer (result i32)
            (fiber.dismount $give (on $answer $answer) (i32.const 3) (global.get $fiber))
            (unreachable))
          (local.set $sum (i32.add (local.get $sum)))
          (i32.add (local.get $sum) (call $task.suspend (local.get $self) (i32.const 4))))

        (func $in-fiber (param $self fiberref) (result i32)
          (global.set $task (call $task.new (ref.func $in-task)))
          (call $task.resume (global.get $task)
            (call $sent (call $task.resume (global.get $task) (i32.const 0)))))

        (func $in-continuation (result i32)
          (global.set $fiber (fiber.new $done (on $go $in-fiber)))
          (block $done (result i32)
            (block $give (result i32)
              (fiber.mount $go (on $give $give) (on $done $done) (global.get $fiber))
              (unreachable))
            (call $sent)
            (fiber.mount $answer (on $done $done) (global.get $fiber)) (unreachable)))

        (func $on-stack (param i32 (ref null $s)) (local $k (ref $ki)) (local $n i32)
          (global.set $root (local.get 1))
          (block $ask (result i32 (ref $ki))
            (resume $k (on $ask $ask) (cont.new $k (ref.func $in-continuation)))
            (unreachable))
          (local.set $k)
          (local.set $n (call $sent))
          (switch_retire $s (resume $ki (local.get $n) (local.get $k)) (global.get $root)))

        (func (export "run") (result i32) (local $s (ref null $s))
          (global.set $log (i32.const 0))
          (switch $s (i32.const 0) (stack.new $s $on-stack)) (local.set $s)
          (call $sent)
          (switch $s (local.get $s)) (drop))
        (func (export "log") (result i32) (global.get $log)))"#
    )
}

#[test]
fn each_design_leaves_and_returns_through_all_others() {
    for (mut store, instance) in instances(&all_designs()) {
        for _ in 0..5 {
            assert_eq!(call_i32(&mut store, instance, "run"), 100);
            assert_eq!(call_i32(&mut store, instance, "log"), 1234);
        }
        assert_eq!(live(&mut store), 0);
    }
}

#[test]
fn all_designs_at_their_last_generations() {
    for engine in [0, 1, 2, 3].into_iter().flat_map(few_generations) {
        let (mut store, instance) = instantiate_in(&engine, all_designs());
        for _ in 0..20 {
            assert_eq!(call_i32(&mut store, instance, "run"), 100);
            assert_eq!(call_i32(&mut store, instance, "log"), 1234);
        }
    }
}
