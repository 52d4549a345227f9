//! The host's references to tasks, fibers and stacks: their kind, where they are suspended, and
//! their end.

use crate::common::*;
use ropewalk::*;

const MODULE: &str = r#"(module
    (import "host" "f" (func $host (param taskref)))
    (type $f (func (result i32))) (type $k (cont $f)) (type $t (task (param i32) (result i32)))
    (type $b (stack (ref null $b))) (tag $yield) (tag $go) (tag $out) (elem declare func $yields)
    (global $task (mut (ref null $t)) (ref.null $t)) (global $fiber (mut fiberref) (ref.null fiber))

    (func $yields (result i32) (suspend $yield) (i32.const 1))
    (func (export "continuation") (result (ref $k)) (cont.new $k (ref.func $yields)))
    (func $body (param $me (ref null $t)) (param i32) (result i32)
      (local.set 1 (task.suspend $t (local.get $me) (local.get 1)))
      (call $host (local.get $me))
      (local.get 1))
    (func (export "task") (result (ref null $t)) (local $t (ref null $t))
      (local.set $t (task.new $t $body))
      (drop (task.resume $t (local.get $t) (i32.const 1)))
      (global.set $task (local.get $t))
      (local.get $t))
    (func (export "resume the task") (result i32) (task.resume $t (global.get $task) (i32.const 7)))
    (func $run (param $me fiberref) (fiber.dismount $out (local.get $me)))
    (func (export "fiber") (result fiberref)
      (global.set $fiber (fiber.new (on $go $run)))
      (global.get $fiber))
    (func (export "mount the fiber") (block $l (fiber.mount $go (on $out $l) (global.get $fiber))))
    (func $never (param (ref null $b)) (unreachable))
    (func (export "coroutine") (result (ref $b)) (stack.new $b $never)))"#;

const ALL: [(&str, StackKind); 4] = [
    ("continuation", StackKind::Continuation),
    ("task", StackKind::Task),
    ("fiber", StackKind::Fiber),
    ("coroutine", StackKind::Bag),
];

#[test]
fn a_stack_of_each_design_is_kept_asked_and_freed() {
    for engine in all_engines() {
        let (mut store, instance) = with_host(&engine, MODULE, |_: Option<ContRef>| ());
        for (name, design) in ALL {
            let owned = {
                let mut scope = RootScope::new(&mut store);
                let make = instance.get_typed_func::<(), Option<ContRef>>(&mut scope, name);
                let made = make.unwrap().call(&mut scope, ()).unwrap().unwrap();
                made.own(&mut scope).unwrap()
            };
            store.gc();
            let mut scope = RootScope::new(&mut store);
            let reference = owned.get(&mut scope).unwrap();
            assert_eq!(reference.design(&scope).unwrap(), design);
            assert!(reference.is_suspended(&scope).unwrap());
            assert!(reference.bytes(&scope).unwrap() > 0);
            let backtrace = reference.backtrace(&scope).unwrap();
            let expected: &[&str] = if name == "task" { &["body"] } else { &[] };
            assert_eq!(frames(&backtrace), expected, "{name}");
            reference.release(&mut scope).unwrap();
            assert!(!reference.is_suspended(&scope).unwrap());
            assert_eq!(reference.bytes(&scope).unwrap(), 0);
            assert!(reference.release(&mut scope).is_err());
            drop(scope);
            assert_eq!(store.stack_statistics().live, 0, "{name}");
        }
        // WebAssembly finds the references stale.
        traps(call(&mut store, instance, "resume the task", &[]), TrapCode::TaskMoribund);
        traps(call(&mut store, instance, "mount the fiber", &[]), TrapCode::FiberMoribund);
    }
}

#[test]
fn running_stacks_are_not_freed() {
    for engine in all_engines() {
        let (mut store, instance) =
            with_host(&engine, MODULE, |mut caller: Caller<'_, ()>, task: Option<ContRef>| {
                let task = task.unwrap();
                assert!(!task.is_suspended(&caller).unwrap());
                traps(task.release(&mut caller), TrapCode::TaskNotSuspended);
            });
        call(&mut store, instance, "task", &[]).unwrap();
        assert_eq!(number(&mut store, instance, "resume the task", &[]).unwrap(), 7);
        assert_eq!(store.stack_statistics().live, 0);
    }
}
