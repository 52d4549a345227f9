//! Grounds of first-class stacks that decide what a trap on their stack does.

use super::leaving::traced_too;
use crate::common::*;
use ropewalk::*;
use std::time::Duration;

/// `run x` starts a thread that traps in a way, and returns 42 if the scheduler continues. Before,
/// the thread has a stack of its own, and there is another suspended thread, which then runs.
const THREADS: &str = r#"(module
    (import "host" "new_stack" (func $new (result stackref)))
    (import "host" "fail" (func $fail))
    (type $f (func)) (type $k (cont $f)) (type $t (task))
    (event $next (export "next") (param stackref)) (tag $thrown (param i32)) (tag $nobody)
    (call_tag $ask (result i32))
    (global $scheduler (mut stackref) (ref.null stack))
    (global $task (mut (ref null $t)) (ref.null $t))
    (global $way (mut i32) (i32.const 0))
    (elem declare func $inside)

    (func $trap (local $mine stackref)
      (local.set_cleared $mine (call $new))
      (call $do)
      (drop (local.get_clear $mine)))
    (func $deep (call $deep) (call $deep))
    (func $spin (loop $again (br $again)))
    (func $do
      (block $8 (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
        (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 (global.get $way)))
        (unreachable))
        (drop (i32.div_u (i32.const 1) (i32.const 0))) (return))
        (task.resume $t (ref.null $t)) (return))
        (call $fail) (return))
        (call $deep) (return))
        (suspend $nobody) (return))
        (throw $thrown (i32.const 7)))
        (fiber.mount $nobody (fiber.new (on $nobody $returns))) (return))
      (call $spin))
    (func $returns (param fiberref))
    (func $inside (call $trap))
    (func $in-task (param (ref null $t)) (resume $k (cont.new $k (ref.func $inside))))

    (rout $thread
      (block $begin (result stackref) (try (stack.start) catch $next $begin) (unreachable))
      (global.set_cleared $scheduler)
      (call $trap))
    (rout $thread-in-task
      (block $begin (result stackref) (try (stack.start) catch $next $begin) (unreachable))
      (global.set_cleared $scheduler)
      (global.set $task (task.new $t $in-task))
      (task.resume $t (global.get $task)))
    (rout $thread-in-answer
      (block $begin (result stackref) (try (stack.start) catch $next $begin) (unreachable))
      (global.set_cleared $scheduler)
      (drop
        (answer $ask (result i32) (call $trap) (i32.const 1)
          within (drop (call_stack $ask)) (i32.const 2))))

    (func (export "scheduler") (result stackref) (global.get_clear $scheduler))
    (func $back (param $thread stackref) (result i32)
      (drop (global.get_clear $scheduler)) ;; of a call that has failed
      (block $back (result stackref)
        (try (stack.switch $next (local.get_clear $thread)) catch $next $back)
        (unreachable))
      (drop)
      (i32.const 42))
    (func (export "run") (param $way i32) (result i32)
      (global.set $way (local.get $way))
      (call $back (stack.extend $thread (call $new))))
    (func (export "in a task") (param $way i32) (result i32)
      (global.set $way (local.get $way))
      (call $back (stack.extend $thread-in-task (call $new))))
    (func (export "in an answer") (param $way i32) (result i32)
      (global.set $way (local.get $way))
      (call $back (stack.extend $thread-in-answer (call $new))))
    (func (export "task is moribund") (result i32)
      (task.resume $t (global.get $task)) (i32.const 0)))"#;

/// What a ground does after a trap.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ground {
    /// It switches to the scheduler.
    Switches,
    Returns,
    /// It calls WebAssembly, which traps, and fails with that.
    Fails,
    /// It gets exceptions only.
    Plain,
}

const WAYS: [(i32, &str); 8] = [
    (0, "wasm trap: unreachable"),
    (1, "wasm trap: integer divide by zero"),
    (2, "wasm trap: null task reference"),
    (3, "failed"),
    (4, "wasm trap: call stack exhausted"),
    (5, "wasm trap: unhandled tag"),
    (6, "an exception"),
    (7, "wasm trap: fiber function returned"),
];

const STARTS: [&str; 3] = ["run", "in a task", "in an answer"];

/// The exceptions and traps that have reached the ground.
type Seen = Vec<String>;

fn new_stack(caller: &mut Caller<'_, Seen>, ground: Ground) -> Result<ContRef> {
    // Inside of a ground, no instance is the caller. So the functions are found now.
    let scheduler = caller.get_export("scheduler").and_then(Extern::into_func).unwrap();
    let next = caller.get_export("next").and_then(Extern::into_tag).unwrap();
    let run = move |caller: &mut Caller<'_, Seen>| -> Result<()> {
        match ground {
            Ground::Returns | Ground::Plain => Ok(()),
            Ground::Fails => Err(Error::msg("the ground failed")),
            Ground::Switches => {
                let scheduler = scheduler.typed::<(), Option<ContRef>>(&caller)?;
                let scheduler = scheduler.call(&mut *caller, ())?.expect("it waits");
                Err(Suspension::send_to(caller, scheduler, next, &[])?.into())
            }
        }
    };
    if ground == Ground::Plain {
        return ContRef::new_stack(caller, None);
    }
    let arrives = move |mut caller: Caller<'_, Seen>,
                        exception: Option<ExnRef>,
                        trap: Option<ExternRef>|
          -> Result<()> {
        let seen = match (exception, trap) {
            (Some(_), None) => "an exception".to_string(),
            (None, Some(trap)) => {
                let trap: &StackTrap = trap.data(&caller)?.downcast_ref().unwrap();
                trap.error().expect("it has not ended a call").to_string()
            }
            other => panic!("{other:?}"),
        };
        let is_exception = exception.is_some();
        caller.data_mut().push(seen);
        match is_exception && ground == Ground::Returns {
            // A ground must not return from an exception.
            true => Err(Error::msg("an exception")),
            false => run(&mut caller),
        }
    };
    let arrives = Func::wrap(&mut *caller, arrives);
    ContRef::new_stack_for_traps(caller, arrives)
}

fn setup(engine: &Engine, ground: Ground) -> (Store<Seen>, Instance) {
    let module = Module::new(engine, THREADS).unwrap();
    let mut linker = Linker::new(engine);
    let Some(ExternType::Func(ty)) = module.imports().next().map(|import| import.ty().clone())
    else {
        unreachable!()
    };
    linker.host_new("new_stack", ty, move |mut caller, _, results| {
        results[0] = Val::ContRef(Some(new_stack(&mut caller, ground)?));
        Ok(())
    });
    linker.host("fail", || -> Result<()> { Err(Error::msg("failed")) });
    start_with(&linker, Vec::new(), &module)
}

fn check_seen(store: &mut Store<Seen>, expected: &str) {
    let seen = std::mem::take(store.data_mut());
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].starts_with(expected), "{seen:?}, {expected}");
}

#[test]
fn a_ground_continues_another_stack_after_a_trap() {
    for engine in traced_too() {
        let (mut store, instance) = setup(&engine, Ground::Switches);
        for start in STARTS {
            for (way, expected) in WAYS {
                let found = number(&mut store, instance, start, &[way]);
                assert_eq!(found.unwrap(), 42, "{start} {way}");
                check_seen(&mut store, expected);
                if start == "in a task" {
                    let resumed = number(&mut store, instance, "task is moribund", &[]);
                    traps(resumed, TrapCode::TaskMoribund);
                }
                check_live(&mut store, 0);
            }
        }
    }
}

#[test]
fn a_ground_that_returns_ends_the_call_with_the_trap() {
    for engine in traced_too() {
        let (mut plain, same) = setup(&engine, Ground::Plain);
        let (mut store, instance) = setup(&engine, Ground::Returns);
        for start in STARTS {
            for (way, expected) in WAYS {
                let error = number(&mut store, instance, start, &[way]).unwrap_err();
                check_seen(&mut store, expected);
                assert!(error.to_string().starts_with(expected), "{error}");
                if way != 6 {
                    // It is the error that there would be without a ground.
                    let other = number(&mut plain, same, start, &[way]).unwrap_err();
                    let first_line =
                        |error: &Error| error.to_string().lines().next().map(str::to_string);
                    assert_eq!(first_line(&error), first_line(&other));
                    assert_eq!(names(&error)[..2], names(&other)[..2]);
                    let code = |error: &Error| error.downcast_ref::<Trap>().map(Trap::code);
                    assert_eq!(code(&error), code(&other));
                }
                check_live(&mut store, 0);
            }
        }
    }
}

#[test]
fn a_ground_that_fails_ends_the_call() {
    for engine in traced_too() {
        let (mut store, instance) = setup(&engine, Ground::Fails);
        for start in STARTS {
            for (way, expected) in WAYS {
                let error = number(&mut store, instance, start, &[way]).unwrap_err();
                check_seen(&mut store, expected);
                assert!(error.to_string().starts_with("the ground failed"), "{error}");
                check_live(&mut store, 0);
            }
        }
    }
}

#[test]
fn an_interruption_ends_the_call_without_the_ground() {
    for mode in [DEFAULT, CHECK] {
        let mut config = mode.config();
        let engine = Engine::new(config.interruption(true)).unwrap();
        let (mut store, instance) = setup(&engine, Ground::Switches);
        for start in STARTS {
            store.set_timeout(Duration::from_millis(20)).unwrap();
            traps(number(&mut store, instance, start, &[8]), TrapCode::Interrupt);
            assert!(store.data().is_empty());
            store.set_deadline(None).unwrap();
            assert_eq!(number(&mut store, instance, start, &[0]).unwrap(), 42);
            store.data_mut().clear();
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn a_fault_uses_up_a_portion_of_fuel() {
    for mode in [DEFAULT, CHECK] {
        let mut config = mode.config();
        let engine = Engine::new(config.consume_fuel(true)).unwrap();
        for start in STARTS {
            let (mut store, instance) = setup(&engine, Ground::Switches);
            store.fuel_async_yield_interval(Some(1000)).unwrap();
            store.set_fuel(100_000).unwrap();
            assert_eq!(number(&mut store, instance, start, &[0]).unwrap(), 42);
            let left = store.get_fuel().unwrap();
            assert!((97_000..=99_000).contains(&left), "{left}");
        }
    }
}

#[test]
fn an_async_host_function_that_fails_leads_to_the_ground() {
    for engine in traced_too() {
        let module = Module::new(&engine, THREADS).unwrap();
        let mut linker = Linker::new(&engine);
        let Some(ExternType::Func(ty)) = module.imports().next().map(|it| it.ty().clone()) else {
            unreachable!()
        };
        linker.host_new("new_stack", ty, move |mut caller, _, results| {
            results[0] = Val::ContRef(Some(new_stack(&mut caller, Ground::Switches)?));
            Ok(())
        });
        linker.host_async("fail", |_: Caller<'_, Seen>, (): ()| {
            Box::new(async move {
                After(2).await;
                Result::<()>::Err(Error::msg("failed"))
            })
        });
        let (mut store, instance) = start_with(&linker, Vec::new(), &module);
        for start in STARTS {
            let run = instance.get_typed_func::<i32, i32>(&mut store, start).unwrap();
            assert_eq!(block_on(run.call_async(&mut store, 3)).unwrap(), 42);
            check_seen(&mut store, "failed");
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn a_ground_can_be_a_function_of_webassembly() {
    let text = r#"(module
        (import "host" "new_stack" (func $new (result stackref)))
        (event $next (param stackref)) (event $end (param i32))
        (global $scheduler (mut stackref) (ref.null stack))
        (func (export "ground") (param $exception exnref) (param $trap externref)
          (stack.switch_drop $end
            (i32.add (ref.is_null (local.get $exception))
              (i32.mul (i32.const 10) (ref.is_null (local.get $trap))))
            (global.get_clear $scheduler)))
        (rout $thread (param $throws i32)
          (block $begin (result stackref) (try (stack.start) catch $next $begin) (unreachable))
          (global.set_cleared $scheduler)
          (if (local.get $throws) (then (throw $end (i32.const 5))))
          (unreachable))
        (func (export "run") (param $throws i32) (result i32)
          (block $ended (result i32)
            (try
              (stack.switch $next (stack.extend $thread (local.get $throws) (call $new)))
              catch $end $ended)
            (unreachable))))"#;
    for engine in traced_too() {
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        let Some(ExternType::Func(ty)) = module.imports().next().map(|it| it.ty().clone()) else {
            unreachable!()
        };
        linker.host_new("new_stack", ty, |mut caller, _, results| {
            let ground = caller.get_export("ground").and_then(Extern::into_func).unwrap();
            let stack = ContRef::new_stack_for_traps(&mut caller, ground)?;
            results[0] = Val::ContRef(Some(stack));
            Ok(())
        });
        let (mut store, instance) = start_with(&linker, (), &module);
        for _ in 0..3 {
            assert_eq!(number(&mut store, instance, "run", &[0]).unwrap(), 1);
            assert_eq!(number(&mut store, instance, "run", &[1]).unwrap(), 10);
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn a_ground_of_another_type_is_refused() {
    let (mut store, _) = instantiate("(module)");
    let ground = Func::wrap(&mut store, |_: Option<ExnRef>| ());
    let error = ContRef::new_stack_for_traps(&mut store, ground).unwrap_err();
    assert!(error.is::<WrongType>(), "{error:?}");
}
