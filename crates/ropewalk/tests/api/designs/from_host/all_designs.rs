//! Stacks of all designs within each other.

use super::*;

/// A stack of each design calls the host, which continues the next stack in a new activation.
#[test]
fn the_host_continues_stacks_of_all_designs_inside_of_each_other() {
    const NESTED: &str = r#"(module
        (import "host" "f" (func $host (param i32) (result i32)))
        (import "host" "new_stack" (func $new-stack (result stackref)))
        (type $t (task (param i32) (result i32))) (type $b (stack (param i32) (ref null $b)))
        (tag $go (export "go") (param i32)) (tag $end (export "end") (param i32))
        (event $ask (export "ask") (param i32 stackref))
        (event $told (export "told") (param i32 stackref))
        (func $task (param (ref null $t)) (param $x i32) (result i32) (call $host (local.get $x)))
        (func (export "task") (result (ref $t)) (task.new $t $task))
        (func $fiber (param fiberref) (param $x i32) (result i32) (call $host (local.get $x)))
        (func (export "fiber") (result fiberref) (fiber.new $end (on $go $fiber)))
        (func $bag (param $x i32) (param $back (ref null $b))
          (switch_retire $b (call $host (local.get $x)) (local.get $back)))
        (func (export "bag") (result (ref $b)) (stack.new $b $bag))
        (rout $body (local $back stackref)
          (block $asked (result i32 stackref)
            (try (stack.start) catch $ask $asked) (unreachable))
          (local.set_cleared $back)
          (call $host)
          (stack.switch $told (local.get_clear $back)))
        (func (export "first-class") (result stackref) (stack.extend $body (call $new-stack))))"#;
    fn export<R: WasmResults>(caller: &mut Caller<'_, ()>, name: &str) -> R {
        let func = caller.get_export(name).and_then(Extern::into_func).unwrap();
        func.typed::<(), R>(&*caller).unwrap().call(caller, ()).unwrap()
    }
    fn event(caller: &mut Caller<'_, ()>, name: &str) -> Tag {
        caller.get_export(name).and_then(Extern::into_tag).unwrap()
    }
    for engine in all_engines() {
        let func = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
            let (deeper, caller) = ([Val::I32(x - 1)], &mut caller);
            let values = match x % 4 {
                _ if x == 0 => return Ok(1),
                0 => {
                    let task: Task = export(caller, "task");
                    match task.resume(&mut *caller, &deeper)? {
                        TaskResumed::Finished(values) => values,
                        other => panic!("{other:?}"),
                    }
                }
                1 => {
                    let fiber: Option<Fiber> = export(caller, "fiber");
                    let [go, end] = ["go", "end"].map(|name| event(caller, name));
                    match fiber.unwrap().mount(&mut *caller, go, &deeper, &[end])? {
                        Mounted::Event { values, .. } => values,
                        other => panic!("{other:?}"),
                    }
                }
                2 => export::<BagStack>(caller, "bag").switch(&mut *caller, &deeper)?.values,
                _ => {
                    let stack: Option<FirstClassStack> = export(caller, "first-class");
                    let ask = event(caller, "ask");
                    stack.unwrap().switch(&mut *caller, ask, &deeper)?.values
                }
            };
            Ok(values[0].i32().expect("an i32") + 1)
        };
        let (mut store, instance) = with_host(&engine, NESTED, func);
        let task: Task = get(&mut store, instance, "task");
        let resumed = task.resume(&mut store, &[Val::I32(20)]).unwrap();
        assert!(matches!(resumed, TaskResumed::Finished(values) if i32s(&values) == [21]));
        check_live(&mut store, 0);
    }
}
