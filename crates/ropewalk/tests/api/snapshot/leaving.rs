//! Stacks of each design that a host function has left, in snapshots.

use super::*;

const SOURCE: &str = r#"
(module
  (type $t (task (param i32) (result i32)))
  (rec
    (type $ping (stack (param i32) (ref null $pong)))
    (type $pong (stack (param i32) (ref null $ping))))
  (import "host" "suspend" (func $suspend (param (ref null $t) i32) (result i32)))
  (import "host" "dismount" (func $dismount (param fiberref i32) (result i32)))
  (import "host" "swap" (func $swap (param (ref null $ping) i32) (result i32 (ref null $ping))))
  (import "host" "send" (func $send (param stackref i32) (result i32)))
  (import "host" "new_stack" (func $new-stack (result stackref)))
  (import "host" "wants" (tag $wants (param i32)))
  (import "host" "got" (tag $got (param i32)))
  (tag $start) (tag $end (param i32))
  (event $go (export "go") (param i32 stackref))
  (event $last (param i32))

  (global $task (mut (ref null $t)) (ref.null $t))
  (global $fiber (mut fiberref) (ref.null fiber))
  (global $bag (mut (ref null $pong)) (ref.null $pong))
  (global $home (mut (ref null $pong)) (ref.null $pong))
  (global $first-class (mut stackref) (ref.null stack))

  (func $task-body (param $me (ref null $t)) (param i32) (result i32)
    (i32.add (i32.const 1) (call $suspend (local.get $me) (i32.const 5))))
  (func $fiber-body (param $me fiberref) (result i32)
    (i32.add (i32.const 2) (call $dismount (local.get $me) (i32.const 6))))
  (func $keeps (param $x i32) (param $back (ref null $pong))
    (global.set $bag (local.get $back))
    (switch_retire $pong (i32.const 0) (global.get $home)))
  (func $bag-body (param $x i32) (param $back (ref null $pong))
    (global.set $home (local.get $back))
    (call $swap (stack.new $ping $keeps) (i32.const 7)) (drop)
    (local.set $x (i32.add (i32.const 3)))
    (switch_retire $pong (local.get $x) (global.get $home)))
  (rout $keeps-it (local $home stackref)
    (block $went (result i32 stackref) (try (stack.start) catch $go $went) (unreachable))
    (global.set_cleared $first-class) (drop)
    (local.set_cleared $home (global.get_clear $root))
    (stack.switch_drop $last (i32.const 0) (local.get_clear $home)))
  (global $root (mut stackref) (ref.null stack))
  (rout $sends
    (block $went (result i32 stackref) (try (stack.start) catch $go $went) (unreachable))
    (global.set_cleared $root) (drop)
    (block $told (result i32)
      (try
        (drop (call $send (stack.extend $keeps-it (call $new-stack)) (i32.const 8)))
        catch $last $told)
      (unreachable))
    (global.set $sum (i32.add (i32.const 4)))
    (stack.switch_drop $last (global.get $sum) (global.get_clear $root)))
  (global $sum (mut i32) (i32.const 0))

  (func (export "begin")
    (global.set $task (task.new $t $task-body))
    (drop (task.resume $t (global.get $task) (i32.const 0)))
    (global.set $fiber (fiber.new $end (on $start $fiber-body)))
    (block $wanted (result i32)
      (fiber.mount $start (on $wants $wanted) (global.get $fiber)) (unreachable))
    (drop)
    (switch $ping (i32.const 0) (stack.new $ping $bag-body)) (drop) (drop)
    (block $came (result i32)
      (try
        (stack.switch $go (i32.const 0) (stack.extend $sends (call $new-stack)))
        catch $last $came)
      (unreachable))
    (drop))
  (func $finish-bag (param $x i32) (param $back (ref null $pong))
    (global.set $home (local.get $back))
    (switch_retire $pong (i32.const 300) (global.get $bag)))
  (rout $finishes
    (block $went (result i32 stackref) (try (stack.start) catch $go $went) (unreachable))
    (global.set_cleared $root) (drop)
    (stack.switch_drop $last (i32.const 4000) (global.get_clear $first-class)))
  (func (export "finish") (result i32) (local $sum i32)
    (local.set $sum (task.resume $t (global.get $task) (i32.const 10)))
    (block $ended (result i32)
      (fiber.mount $got (on $end $ended) (i32.const 20) (global.get $fiber)) (unreachable))
    (local.set $sum (i32.add (local.get $sum)))
    (switch $ping (i32.const 0) (stack.new $ping $finish-bag)) (drop)
    (local.set $sum (i32.add (local.get $sum)))
    (block $came (result i32)
      (try
        (stack.switch $go (i32.const 0) (stack.extend $finishes (call $new-stack)))
        catch $last $came)
      (unreachable))
    (i32.add (local.get $sum))))"#;

fn linker(engine: &Engine, tags: Option<[Tag; 2]>) -> Linker<()> {
    let module = Module::new(engine, SOURCE).unwrap();
    let ty = |name: &str| match module.imports().find(|import| import.name() == name) {
        Some(import) => match import.ty() {
            ExternType::Func(ty) => ty.clone(),
            other => panic!("{other:?}"),
        },
        None => unreachable!("it is imported"),
    };
    let mut linker = Linker::new(engine);
    linker.host("suspend", |task: Option<Task>, x: i32| -> Result<i32> {
        Err(Suspension::of_task(&task.unwrap(), &[x.into()]).into())
    });
    linker.host("dismount", move |fiber: Option<Fiber>, x: i32| -> Result<i32> {
        let [wants, got] = tags.expect("this is called before the snapshot");
        Err(Suspension::of_fiber(&fiber.unwrap(), wants, &[x.into()], got).into())
    });
    linker.host_new("swap", ty("swap"), |_, values, _| {
        let [Val::ContRef(Some(stack)), x] = values else { panic!("{values:?}") };
        Err(Suspension::switch_to(*stack, &[*x]).into())
    });
    linker.host(
        "send",
        |mut caller: Caller<'_, ()>, stack: Option<ContRef>, x: i32| -> Result<i32> {
            let go = caller.get_export("go").and_then(Extern::into_tag).unwrap();
            let stack = stack.unwrap();
            Err(Suspension::send_to(&mut caller, stack, go, &[x.into()])?.into())
        },
    );
    linker
}

#[test]
fn stacks_that_were_left_in_host_functions_continue() {
    for mode in [DEFAULT, CHECK, COLLECT_AND_MOVE] {
        let engine = Engine::new(mode.config().snapshots(true)).unwrap();
        let mut store = Store::new(&engine, ());
        let tags = [(); 2].map(|()| Tag::with_params(&mut store, [ValType::I32]).unwrap());
        let mut first = linker(&engine, Some(tags));
        first.define(&mut store, "host", "wants", tags[0]).unwrap();
        first.define(&mut store, "host", "got", tags[1]).unwrap();
        let module = Module::new(&engine, SOURCE).unwrap();
        let instance = first.instantiate(&mut store, &module).unwrap();
        call::<()>(&mut store, instance, "begin");
        for parks in [false, true] {
            if parks {
                store.park_idle();
            }
            let snapshot = through_bytes(&snapshot(&mut store, instance));
            let modules = std::slice::from_ref(&module);
            let restored = snapshot.restore(&linker(&engine, None), modules, ()).unwrap();
            let same = restored.instance("main").unwrap();
            let mut other = restored.store;
            // 11 + 22 + 303 + 4004
            assert_eq!(call::<i32>(&mut other, same, "finish"), 4340);
            check_live(&mut other, 0);
        }
        assert_eq!(call::<i32>(&mut store, instance, "finish"), 4340);
        check_live(&mut store, 0);
    }
}
