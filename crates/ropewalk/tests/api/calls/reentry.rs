//! Reentry: a host function that is called on a stack of each design calls WebAssembly again.
//!
//! However the inner call ends, the stack continues and nothing leaks.

use crate::common::*;
use ropewalk::*;

/// Each `on ..` runs `$work` on a stack of a design. `$work` holds an object and calls the host
/// twice with the number of an `inner ..`.
const MODULE: &str = r#"(module
  (import "host" "reenter" (func $reenter (param i32) (result i32)))
  (import "host" "new_stack" (func $new (result stackref)))
  (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
  (type $t (task (param i32) (result i32))) (type $end (stack (ref null $end)))
  (type $back (stack (param i32) (ref null $end))) (type $c (stack (param i32) (ref null $back)))
  (type $kept (stack (ref null $end)))
  (rec (type $g (func (param (ref null $l)) (result i32))) (type $l (cont $g)))
  (tag $x (param i32)) (tag $unhandled (result i32)) (tag $yield (result i32))
  (tag $swap (result i32)) (tag $go (param i32)) (tag $done (param i32)) (event $answer (param i32))
  (elem declare func $work $throws $forever $traps $yields $swaps $target)
  (global $task (mut (ref null $t)) (ref.null $t)) (global $fiber (mut fiberref) (ref.null fiber))
  (global $cont (mut (ref null $k)) (ref.null $k))

  ;; Adds up the results of the host and the field of the object.
  (func $work (param $i i32) (result i32) (local $a (ref null $s))
    (local.set $a (struct.new $s (i32.const 7)))
    (i32.add
      (i32.mul (call $reenter (local.get $i)) (i32.const 1000))
      (i32.add
        (i32.mul (call $reenter (local.get $i)) (i32.const 10))
        (struct.get $s 0 (local.get $a)))))

  (func (export "on the root") (param i32) (result i32) (call $work (local.get 0)))
  (func (export "on a continuation") (param i32) (result i32)
    (global.set $cont (cont.new $k (ref.func $work)))
    (resume $k (local.get 0) (global.get $cont)))
  (func $in-task (param $me (ref null $t)) (param i32) (result i32)
    (global.set $task (local.get $me))
    (call $work (local.get 1)))
  (func (export "on a task") (param i32) (result i32)
    (task.resume $t (task.new $t $in-task) (local.get 0)))
  (func $in-fiber (param $me fiberref) (param i32) (result i32)
    (global.set $fiber (local.get $me))
    (call $work (local.get 1)))
  (func (export "on a fiber") (param i32) (result i32)
    (block $done (result i32)
      (fiber.mount $go (on $done $done) (local.get 0) (fiber.new $done (on $go $in-fiber)))
      (unreachable)))
  (func $in-coroutine (param i32) (param $back (ref null $back))
    (switch_retire $back (call $work (local.get 0)) (local.get $back)))
  (func (export "on a coroutine") (param i32) (result i32)
    (switch $c (local.get 0) (stack.new $c $in-coroutine)) (drop))
  (func $in-stack (param $i i32) (param $back stackref)
    (stack.switch_drop $answer (call $work (local.get $i)) (local.get_clear $back)))
  (func (export "on a first-class stack") (param i32) (result i32)
    (block $h (result i32)
      (try (stack.switch_call $in-stack (local.get 0) (call $new)) catch $answer $h)
      (unreachable)))

  (func (export "inner 0: returns") (result i32) (i32.const 1))
  (func (export "inner 1: traps") (result i32) (unreachable))
  (func $traps (param i32) (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
  (func (export "inner 2: traps in a continuation") (result i32)
    (resume $k (i32.const 0) (cont.new $k (ref.func $traps))))
  (func (export "inner 3: throws") (result i32) (throw $x (i32.const 3)))
  (func $throws (param i32) (result i32) (throw $x (i32.const 4)))
  (func (export "inner 4: throws in a continuation") (result i32)
    (resume $k (i32.const 0) (cont.new $k (ref.func $throws))))
  (func (export "inner 5: suspends") (result i32) (suspend $unhandled))
  (func $yields (param i32) (result i32) (i32.add (suspend $yield) (local.get 0)))
  (func (export "inner 6: suspends in a continuation") (result i32)
    (resume $k (i32.const 0) (cont.new $k (ref.func $yields))))
  (func $target (type $g) (i32.const 5))
  (func $swaps (type $g) (drop (switch $l $swap (cont.new $l (ref.func $target)))) (i32.const 6))
  (func (export "inner 7: switches") (result i32)
    (resume $l (ref.null $l) (cont.new $l (ref.func $swaps))))
  (func $forever (param i32) (result i32) (i32.add (i32.const 1) (call $forever (local.get 0))))
  (func (export "inner 8: exhausts a stack") (result i32)
    (resume $k (i32.const 0) (cont.new $k (ref.func $forever))))
  (func (export "inner 9: uses the continuation") (result i32)
    (resume $k (i32.const 0) (global.get $cont)))
  (func (export "inner 10: suspends the task") (result i32)
    (task.suspend $t (global.get $task) (i32.const 0)))
  (func (export "inner 11: resumes the task") (result i32)
    (task.resume $t (global.get $task) (i32.const 0)))
  (func (export "inner 12: dismounts the fiber") (result i32)
    (fiber.dismount $done (i32.const 0) (global.get $fiber))
    (i32.const 0))
  (func (export "inner 13: mounts the fiber") (result i32)
    (fiber.mount $done (i32.const 0) (global.get $fiber))
    (i32.const 0))
  (func (export "inner 14: runs a generator") (result i32) (local $k (ref null $k))
    (block $y (result (ref $k))
      (return (resume $k (on $yield $y) (i32.const 1) (cont.new $k (ref.func $yields)))))
    (local.set $k)
    (resume $k (i32.const 2) (local.get $k)))
  ;; Leaves a continuation suspended, without a reference to it.
  (func (export "inner 15: abandons one") (result i32)
    (block $y (result (ref $k))
      (return (resume $k (on $yield $y) (i32.const 1) (cont.new $k (ref.func $yields)))))
    (drop)
    (i32.const 4))
  (func (export "inner 16: catches what leaves one") (result i32)
    (block $h (result i32)
      (try_table (catch $x $h) (return (resume $k (i32.const 0) (cont.new $k (ref.func $throws)))))
      (unreachable))))"#;

/// What the host returns for a call that threw, and for one that trapped.
const THREW: i32 = 50;
const TRAPPED: i32 = 100;

/// Calls the export that begins with `inner` and this number.
fn reenter(mut caller: Caller<'_, ()>, number: i32) -> Result<i32> {
    let prefix = format!("inner {number}:");
    let name = MODULE.split('"').find(|part| part.starts_with(&prefix)).expect("there is one");
    match call_export::<_, (), i32>(&mut caller, name, ()) {
        Ok(value) => Ok(value),
        Err(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => Ok(TRAPPED + trap.code() as i32),
            None => {
                let exception = error.downcast::<Exception>()?;
                Ok(THREW + exception.values(&mut caller)?[0].i32().expect("an i32"))
            }
        },
    }
}

/// The result of an inner call whose outer call is on this stack.
fn expected(on: &str, number: i32) -> i32 {
    use TrapCode::*;
    let trapped = |code: TrapCode| TRAPPED + code as i32;
    match number {
        0 => 1,
        1 => trapped(Unreachable),
        2 => trapped(IntegerDivideByZero),
        3 | 4 => THREW + number,
        5..=7 => trapped(UnhandledTag),
        8 => trapped(CallStackExhausted),
        9 if on == "on a continuation" => trapped(ContinuationConsumed),
        9 => trapped(NullContinuation),
        10 if on == "on a task" => trapped(TaskNotRunning),
        11 if on == "on a task" => trapped(TaskNotSuspended),
        10 | 11 => trapped(NullTask),
        12 if on == "on a fiber" => trapped(FiberNotRunning),
        13 if on == "on a fiber" => trapped(FiberHasParent),
        12 | 13 => trapped(NullFiber),
        14 => 3,
        15 | 16 => 4,
        other => unreachable!("{other}"),
    }
}

const STACKS: [&str; 6] = [
    "on the root",
    "on a continuation",
    "on a task",
    "on a fiber",
    "on a coroutine",
    "on a first-class stack",
];

#[test]
fn a_stack_continues_however_a_call_from_its_host_function_ends() {
    for mut linker in engines().iter().map(Linker::new) {
        linker.host("reenter", reenter);
        for on in STACKS {
            let (mut store, instance) = link(&linker, (), MODULE);
            for number in 0..=16 {
                let expected = expected(on, number) * 1010 + 7;
                let found = invoke::<i32, i32>(&mut store, instance, on, number);
                assert_eq!(found.unwrap(), expected, "{on}, inner {number}");
            }
            store.gc();
            assert_eq!(store.stack_statistics().live, 0, "{on}");
        }
    }
}

#[test]
fn a_trap_that_a_host_function_passes_on_ends_every_activation() {
    for mut linker in engines().iter().map(Linker::new) {
        let pass_on = |mut caller: Caller<'_, ()>, number: i32| -> Result<i32> {
            // Each stack calls the host, which runs the next one.
            let name = STACKS.get(number as usize).copied().unwrap_or("inner 1: traps");
            let next = caller.get_export(name).and_then(Extern::into_func).expect("a function");
            let mut results = [Val::I32(0)];
            match number as usize >= STACKS.len() {
                true => next.call(&mut caller, &[], &mut results)?,
                false => next.call(&mut caller, &[Val::I32(number + 1)], &mut results)?,
            }
            Ok(results[0].i32().expect("an i32"))
        };
        linker.host("reenter", pass_on);
        let (mut store, instance) = link(&linker, (), MODULE);
        for _ in 0..3 {
            let error = call(&mut store, instance, "on the root", &[Val::I32(0)]).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::Unreachable);
            assert!(trap(&error).backtrace().frames().len() > STACKS.len());
            // The next call, which ends in another way, is not affected.
            let error = call(&mut store, instance, "inner 3: throws", &[]).unwrap_err();
            assert!(error.downcast_ref::<Exception>().is_some());
            let results = call(&mut store, instance, "inner 14: runs a generator", &[]);
            assert_eq!(results.unwrap()[0].i32(), Some(3));
        }
        check_live(&mut store, 0);
    }
}

/// Checks how a host function ends a call, on a stack of each design.
fn end_on_every_stack(
    host: impl Fn(Caller<'_, ()>, i32) -> Result<i32> + Clone + Send + Sync + 'static,
    check: impl Fn(&str, std::thread::Result<Result<i32>>),
) {
    for mut linker in engines().iter().map(Linker::new) {
        linker.host("reenter", host.clone());
        for on in STACKS {
            let (mut store, instance) = link(&linker, (), MODULE);
            for _ in 0..3 {
                let call = std::panic::AssertUnwindSafe(|| {
                    invoke::<i32, i32>(&mut store, instance, on, 0)
                });
                check(on, std::panic::catch_unwind(call));
                let results =
                    crate::common::call(&mut store, instance, "inner 14: runs a generator", &[]);
                assert_eq!(results.unwrap()[0].i32(), Some(3));
            }
            store.gc();
            assert_eq!(store.stack_statistics().live, 0, "{on}");
        }
    }
}

#[test]
fn an_error_of_a_host_function_ends_the_activation_on_every_stack() {
    let host = |_: Caller<'_, ()>, _: i32| Err(anyhow::anyhow!("no"));
    end_on_every_stack(host, |on, result| {
        assert_eq!(host_message(&result.expect("no panic").unwrap_err()), "no", "{on}");
    });
}

#[test]
fn a_panic_of_a_host_function_ends_the_activation_on_every_stack() {
    let host = |_: Caller<'_, ()>, _: i32| std::panic::resume_unwind(Box::new("panic"));
    end_on_every_stack(host, |on, result| {
        let panic = result.expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"panic"), "{on}");
    });
}

#[test]
fn an_exception_of_a_host_function_leaves_every_stack() {
    let host = |mut caller: Caller<'_, ()>, _: i32| -> Result<i32> {
        let tag = Tag::with_params(&mut caller, [ValType::I32])?;
        Err(Exception::new(&mut caller, tag, &[Val::I32(5)])?.into())
    };
    end_on_every_stack(host, |on, result| {
        let error = result.expect("no panic").unwrap_err();
        match on {
            "on a coroutine" => assert_eq!(trap(&error).code(), TrapCode::CoroutineException),
            "on a first-class stack" => assert_eq!(trap(&error).code(), TrapCode::UncaughtOnStack),
            _ => assert!(error.downcast_ref::<Exception>().is_some(), "{on}: {error:?}"),
        }
    });
}

#[test]
fn a_host_function_may_enter_again_on_another_thread() {
    for engine in engines() {
        let text = r#"(module
                (import "host" "enter" (func $enter (param i32) (result i32)))
                (memory 1)
                (func $fails (export "fails") (param i32) (result i32)
                  (i32.load (i32.sub (i32.const 65536) (local.get 0))))
                (func $deep (export "deep") (param i32) (result i32)
                  (i32.add (i32.const 1) (call $deep (local.get 0))))
                (func (export "go") (param i32) (result i32)
                  (i32.add (call $fails (i32.const 4)) (call $enter (local.get 0)))))"#;
        let mut linker = Linker::new(&engine);
        linker.host("enter", |mut caller: Caller<'_, usize>, depth: i32| -> Result<i32> {
            // The borrow of the store moves to the thread.
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    *caller.data_mut() += 1;
                    let mut entered = |name: &str, value: i32| {
                        let func = caller.get_export(name).unwrap().into_func().unwrap();
                        let func = func.typed::<i32, i32>(&caller)?;
                        func.call(&mut caller, value)
                    };
                    for (name, code) in [
                        ("fails", TrapCode::MemoryOutOfBounds),
                        ("deep", TrapCode::CallStackExhausted),
                    ] {
                        assert_eq!(trap(&entered(name, 0).unwrap_err()).code(), code);
                    }
                    match depth {
                        0 => entered("fails", 0),
                        _ => entered("go", depth - 1),
                    }
                });
                other.join().unwrap()
            })
        });
        let (mut store, instance) = link(&linker, 0, text);
        for _ in 0..2 {
            let error = invoke::<i32, i32>(&mut store, instance, "go", 3).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::MemoryOutOfBounds);
            // The frame of the function that failed, then one for each call of the host.
            assert_eq!(trap(&error).backtrace().frames().len(), 1 + 4);
        }
        assert_eq!(*store.data(), 8);
    }
}
