//! Stacks after a failure in the middle of an operation.

use crate::common::*;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A store whose engine panics after each trap.
fn panicking() -> (Store<()>, Instance) {
    let mut config = Config::new();
    // SAFETY: a poisoned store does not run again.
    unsafe { config.inject_bug(InjectedBug::EndingPanics) };
    let engine = Engine::new(&config).unwrap();
    let text = r#"(module
             (import "host" "inner" (func $inner))
             (func (export "fine") (result i32) (i32.const 7))
             (func (export "trap") (unreachable))
             (func (export "outer") (call $inner)))"#;
    let mut linker = Linker::new(&engine);
    linker.host("inner", |mut caller: Caller<'_, ()>| -> Result<()> {
        call_export::<_, (), ()>(&mut caller, "trap", ())
    });
    link(&linker, (), text)
}

/// Calls a function in which the engine panics. Fails unless the store is unusable then.
fn check_poisoned(name: &str) {
    let (mut store, instance) = panicking();
    let fine = instance.get_typed_func::<(), i32>(&mut store, "fine").unwrap();
    assert_eq!(fine.call(&mut store, ()).unwrap(), 7);
    let panicked =
        catch_unwind(AssertUnwindSafe(|| invoke::<(), ()>(&mut store, instance, name, ())));
    assert!(panicked.is_err(), "the engine has not panicked");
    let error = fine.call(&mut store, ()).unwrap_err().to_string();
    assert!(error.starts_with("the store is unusable: "), "{error}");
    assert!(error.contains("the engine panicked"), "{error}");
    store.gc();
    assert_eq!(store.collections(), 0);
}

#[test]
fn a_store_in_which_the_engine_panicked_runs_nothing_any_more() {
    check_poisoned("trap");
}

#[test]
fn a_panic_of_the_engine_continues_through_outer_calls() {
    check_poisoned("outer");
}

/// A module that makes tasks and fibers whose arguments do not fit on a tiny stack.
fn many_arguments() -> String {
    let arguments = "(v128.const i64x2 1 2) ".repeat(900);
    let types = "v128 ".repeat(900);
    format!(
        r#"(module
             (type $t (task)) (tag $go)
             (func $task (param (ref null $t) {types}))
             (func $fiber (param {types} fiberref))
             (func (export "task") (drop (task.new $t $task {arguments})))
             (func (export "fiber") (drop (fiber.new (on $go $fiber) {arguments}))))"#
    )
}

#[test]
fn a_stack_that_cannot_be_made_is_not_lost() {
    let mut config = Config::new();
    config
        .stack_size(8 << 10)
        .stress(|stress| stress.fail_to_grow = true)
        .max_stacks(2)
        .stack_pool(1);
    let (mut store, instance) = instantiate_in(&Engine::new(&config).unwrap(), many_arguments());
    for name in ["task", "fiber"] {
        for _ in 0..10 {
            traps(invoke::<(), ()>(&mut store, instance, name, ()), TrapCode::CallStackExhausted);
        }
        assert_eq!(store.stack_statistics().live, 0);
    }
}

/// The root of a call is suspended and freed, at once or by a collection, while another stack runs
/// in the call.
const SPENT: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (import "host" "f" (func $look))
    (type $cell (struct (field (mut stackref))))
    (event $left (param stackref))
    (func $frees (param $root stackref) (drop (local.get_clear $root)) (call $look) (call $owns))
    (func $loses (param $root stackref)
      (drop (struct.new $cell (local.get_clear $root)))
      (call $look)
      (call $owns))
    (func $owns (local $s stackref) (local.set_cleared $s (call $new)) (call $look))
    (func (export "free") (local $s stackref)
      (local.set_cleared $s (call $new))
      (block $left (result stackref)
        (try (stack.switch_call $frees (call $new)) catch $left $left) (unreachable))
      (drop)
      (drop (local.get_clear $s)))
    (func (export "lose") (local $s stackref)
      (local.set_cleared $s (call $new))
      (block $left (result stackref)
        (try (stack.switch_call $loses (call $new)) catch $left $left) (unreachable))
      (drop)
      (drop (local.get_clear $s))))"#;

/// Calls a function of that module, whose host function collects and inspects the store.
fn spend(config: &mut Config, name: &str, look: fn(&mut Caller<'_, ()>)) {
    let engine = Engine::new(config.stress(|stress| stress.check_stacks = true)).unwrap();
    let mut linker = Linker::new(&engine);
    linker.host("f", move |mut caller: Caller<'_, ()>| {
        caller.gc();
        look(&mut caller);
    });
    let (mut store, instance) = link(&linker, (), SPENT);
    for _ in 0..3 {
        let error = call(&mut store, instance, name, &[]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::ReturnedToSuspended, "{error:?}");
        assert_eq!(store.stack_statistics().live, 0);
    }
}

#[test]
fn a_root_that_was_freed_in_its_call_has_no_frames_any_more() {
    for name in ["free", "lose"] {
        spend(&mut Config::new(), name, |caller| {
            let stacks = caller.as_context().stacks().unwrap();
            assert!(!stacks.iter().any(|stack| stack.kind_name() == "root"), "{stacks}");
        });
    }
}

#[test]
fn a_call_whose_root_was_freed_is_saved_and_ends_the_same() {
    for name in ["free", "lose"] {
        spend(Config::new().snapshots(true), name, |caller| {
            let snapshot = caller.snapshot(&SnapshotOptions::new()).unwrap();
            let engine = caller.engine().clone();
            let module = Module::new(&engine, SPENT).unwrap();
            let mut linker = Linker::new(&engine);
            linker.host("f", || {});
            let mut restored = snapshot.restore(&linker, &[module], ()).unwrap();
            let call = restored.calls.remove(0);
            let error = call.resume(&mut restored.store, &[]).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::ReturnedToSuspended, "{error:?}");
            assert_eq!(restored.store.stack_statistics().live, 0);
        });
    }
}
