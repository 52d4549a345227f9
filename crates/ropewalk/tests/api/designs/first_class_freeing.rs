//! First-class stacks come from the host, and are freed at once with all that they own.

use crate::common::*;
use ropewalk::*;

/// Chains of stacks that end in all ways. Each stack owns the next.
const CHAINS: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (type $f (func)) (type $k (cont $f)) (type $t (task)) (tag $x)
    (global $kept (mut stackref) (ref.null stack))
    (rout $link (param $s stackref) (stack.start))
    (func $chain (param $n i32) (result stackref) (local $s stackref)
      (loop $next
        (local.set_cleared $s (stack.extend $link (local.get_clear $s) (call $new)))
        (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (local.get_clear $s))
    (func (export "keep") (param $n i32) (global.set_cleared $kept (call $chain (local.get $n))))
    (func (export "drop kept") (drop (global.get_clear $kept)))
    (func (export "drop") (param $n i32) (drop (call $chain (local.get $n))))
    (func (export "br") (param $n i32) (block $l (call $chain (local.get $n)) (br $l)))
    (func (export "return") (param $n i32) (call $chain (local.get $n)) (return))
    (func $throws (param $n i32) (call $chain (local.get $n)) (throw $x))
    (func (export "catch") (param $n i32)
      (block $l (try_table (catch $x $l) (call $throws (local.get $n)))))
    (func (export "throw") (param $n i32) (local $s stackref)
      (local.set_cleared $s (call $chain (local.get $n)))
      (throw $x))
    (func (export "trap") (param $n i32) (local $s stackref)
      (local.set_cleared $s (call $chain (local.get $n))) (unreachable))
    (func (export "exhaust") (param $n i32) (call $deep (call $chain (local.get $n))))
    (func $deep (param $s stackref) (call $deep (local.get_clear $s)))
    (func $holds (param $me (ref null $t)) (param $s stackref) (task.suspend $t (local.get $me)))
    (func (export "task.release") (param $n i32) (local $t (ref null $t))
      (local.set $t (task.new $t $holds (call $chain (local.get $n))))
      (task.resume $t (local.get $t))
      (task.release $t (local.get $t)))
    (func (export "new task") (param $n i32)
      (task.release $t (task.new $t $holds (call $chain (local.get $n))))))"#;

#[test]
fn a_chain_of_stacks_is_freed_at_once_and_not_by_a_collection() {
    let (mut store, instance) = instantiate(CHAINS);
    // Exceptions need a heap.
    number(&mut store, instance, "throw", &[1]).unwrap_err();
    for name in ["drop", "br", "return", "catch", "throw", "task.release", "new task"] {
        let before = store.collections();
        let result = number(&mut store, instance, name, &[3000]);
        assert_eq!(result.is_err(), name == "throw", "{name}");
        assert_eq!(store.stack_statistics().live, 0, "{name}");
        assert_eq!(store.collections(), before, "{name}");
    }
}

#[test]
fn a_chain_of_stacks_is_freed_before_a_call_that_traps_returns() {
    let (mut store, instance) = instantiate(CHAINS);
    number(&mut store, instance, "keep", &[7]).unwrap();
    for name in ["trap", "exhaust"] {
        let error = number(&mut store, instance, name, &[1000]).unwrap_err();
        trap(&error);
        assert_eq!(store.stack_statistics().live, 7, "{name}");
    }
    number(&mut store, instance, "drop kept", &[]).unwrap();
    assert_eq!(store.stack_statistics().live, 0);
}

#[test]
fn a_long_chain_needs_no_recursion() {
    let (mut store, instance) = instantiate(CHAINS);
    for name in ["drop", "catch"] {
        number(&mut store, instance, name, &[60_000]).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
    assert_eq!(store.stack_statistics().peak, 60_000);
}

/// Each stack has at least a page, so this takes much memory.
#[test]
#[ignore = "needs 5 GiB of memory"]
fn a_chain_of_a_million_stacks_is_freed() {
    let (mut store, instance) = instantiate(CHAINS);
    number(&mut store, instance, "keep", &[1_000_000]).unwrap();
    let start = std::time::Instant::now();
    number(&mut store, instance, "drop kept", &[]).unwrap();
    println!("{:?}", start.elapsed());
    assert_eq!(store.stack_statistics().live, 0);
}

// ---- the host's stacks

const USES: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param i32)) (event $end (param i32))
    (func $answers (param $back stackref)
      (stack.switch_drop $end (i32.const 42) (local.get_clear $back)))
    (func (export "use") (result i32)
      (block $end (result i32)
        (try (stack.switch_call $answers (call $new)) catch $end $end) (unreachable)))
    (func (export "is null") (result i32) (ref.is_null (call $new)))
    (func (export "ground") (stack.switch_drop $e (i32.const 7) (call $new)))
    (export "e" (event $e)))"#;

/// The type of `new_stack`.
fn new_stack_type(module: &Module) -> FuncType {
    match module.imports().next().expect("it imports new_stack").ty() {
        ExternType::Func(ty) => ty.clone(),
        other => panic!("new_stack is a function, not {other}"),
    }
}

/// An instance of [`USES`] that gets its stacks from a closure of the host.
fn with_stacks(
    give: impl Fn(Caller<'_, u32>) -> Result<Option<ContRef>> + Send + Sync + 'static,
) -> (Store<u32>, Instance) {
    let engine = Engine::default();
    let module = Module::new(&engine, USES).unwrap();
    let mut linker = Linker::new(&engine);
    let ty = new_stack_type(&module);
    linker.host_new("new_stack", ty, move |caller, _, results| {
        results[0] = Val::ContRef(give(caller)?);
        Ok(())
    });
    start_with(&linker, 0, &module)
}

#[test]
fn the_engine_gives_blank_stacks_if_nothing_else_does() {
    let engine = Engine::default();
    let module = Module::new(&engine, USES).unwrap();
    let mut store = Store::new(&engine, ());
    let linker = Linker::new(&engine);
    let instances = [
        linker.instantiate(&mut store, &module).unwrap(),
        Instance::new(&mut store, &module, &[]).unwrap(),
    ];
    for instance in instances {
        assert_eq!(number(&mut store, instance, "use", &[]).unwrap(), 42);
        traps(number(&mut store, instance, "ground", &[]), TrapCode::EventReachedGround);
    }
    assert_eq!(store.stack_statistics().live, 0);
}

#[test]
fn a_function_of_the_linker_gives_and_counts_stacks() {
    let (mut store, instance) = with_stacks(|mut caller| {
        *caller.data_mut() += 1;
        ContRef::new_stack(&mut caller, None).map(Some)
    });
    for _ in 0..3 {
        assert_eq!(number(&mut store, instance, "use", &[]).unwrap(), 42);
    }
    assert_eq!(*store.data(), 3);
    traps(call(&mut store, instance, "ground", &[]), TrapCode::EventReachedGround);
}

#[test]
fn the_host_may_refuse_a_stack() {
    let (mut store, instance) = with_stacks(|_| Ok(None));
    assert_eq!(call(&mut store, instance, "is null", &[]).unwrap()[0].i32(), Some(1));
    traps(call(&mut store, instance, "use", &[]), TrapCode::NullStack);
    let (mut store, instance) = with_stacks(|_| anyhow::bail!("no more of them"));
    let error = call(&mut store, instance, "use", &[]).unwrap_err();
    assert!(format!("{error:?}").contains("no more of them"));
}

#[test]
fn values_that_arrive_at_a_ground_of_the_host_reach_its_function() {
    let (mut store, instance) = with_stacks(|mut caller| {
        let ty = FuncType::new([ValType::Ref(RefType::EXNREF)], []);
        let ground = Func::new(&mut caller, ty, |mut caller: Caller<'_, u32>, arrived, _| {
            let Val::ExnRef(Some(event)) = arrived[0] else { panic!("an event") };
            let values = event.values(&mut caller)?;
            *caller.data_mut() = values[0].i32().expect("a number") as u32;
            anyhow::bail!("the ground was reached")
        })?;
        ContRef::new_stack(&mut caller, Some(ground)).map(Some)
    });
    let error = call(&mut store, instance, "ground", &[]).unwrap_err();
    assert!(format!("{error:?}").contains("the ground was reached"));
    assert_eq!(*store.data(), 7);
    assert_eq!(call(&mut store, instance, "use", &[]).unwrap()[0].i32(), Some(42));
    assert_eq!(store.stack_statistics().live, 0);
}

#[test]
fn another_type_does_not_link() {
    let engine = Engine::default();
    let module = Module::new(&engine, USES).unwrap();
    let mut linker = Linker::new(&engine);
    linker.host("new_stack", || 1_i32);
    let mut store = Store::new(&engine, ());
    fails_with(linker.instantiate(&mut store, &module), "incompatible import type");
    let other = r#"(module (import "host" "new_stack" (func (result i32))))"#;
    let other = Module::new(&engine, other).unwrap();
    fails_with(Linker::new(&engine).instantiate(&mut store, &other), "unknown import");
}
