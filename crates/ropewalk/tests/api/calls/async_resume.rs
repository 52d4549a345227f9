//! Every way to resume a stack in a future: it waits, is dropped while it waits, and fails. The
//! host handles the tags that it names.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

const MODULE: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (type $t (task (param i32) (result i32))) (tag $ask (export "ask") (param i32) (result i32))
    (tag $other (export "other") (param i32) (result i32))
    (tag $cancel (export "cancel") (param i32))
    (func (export "run") (param i32) (result i32)
      (call $wait (suspend $ask (call $wait (local.get 0)))))
    ;; Continues only after the exception, and then waits.
    (func (export "cancelled") (param i32) (result i32)
      (block $cancelled (result i32)
        (try_table (catch $cancel $cancelled) (return (suspend $ask (local.get 0))))
        (unreachable))
      (call $wait)
      (suspend $ask)
      (call $wait))
    (func $deep (export "deep") (param i32) (result i32)
      (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
      (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
    (func $task (param $me (ref null $t)) (param i32) (result i32)
      (call $wait (task.suspend $t (local.get $me) (call $wait (local.get 1)))))
    (func (export "new task") (result (ref $t)) (task.new $t $task)))"#;

/// What `wait` does after three polls.
type Then = fn(i32) -> Result<i32>;

fn double(x: i32) -> Result<i32> {
    Ok(2 * x)
}

fn setup(engine: &Engine, then: Then) -> (Store<()>, Instance) {
    let mut linker = Linker::new(engine);
    linker.host_async("wait", move |_: Caller<'_, ()>, (x,): (i32,)| {
        Box::new(async move {
            After(3).await;
            then(x)
        })
    });
    link(&linker, (), MODULE)
}

fn check_empty(store: &mut Store<()>) {
    check_live(store, 0);
    assert_eq!(store.pending_calls(), 0);
}

type Resuming<'a> = Pin<Box<dyn Future<Output = Result<i32>> + Send + 'a>>;

/// A way to resume a stack twice: with a number, and with the number it gives plus one. Returns the
/// result.
type Form = for<'a> fn(&'a mut Store<()>, Instance, i32) -> Resuming<'a>;

const FORMS: [(&str, Form); 7] = [
    ("resume_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "run")?;
            let (value, rest) = suspended(rest.resume_async(&mut *store, &[n.into()]).await?);
            returned(rest.resume_async(store, &[(value + 1).into()]).await?)
        })
    }),
    ("resume_on_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "run")?;
            let tags = [tag(store, instance, "other"), tag(store, instance, "ask")];
            let resumed = rest.resume_on_async(&mut *store, &tags, &[n.into()]).await?;
            let (value, rest) = suspended(resumed);
            returned(rest.resume_on_async(store, &[], &[(value + 1).into()]).await?)
        })
    }),
    ("resume_with_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "run")?;
            let clauses = [Clause::On(tag(store, instance, "ask"))];
            let resumed = rest.resume_with_async(&mut *store, &clauses, &[n.into()]).await?;
            let (value, rest) = suspended(resumed);
            let arguments = [(value + 1).into()];
            returned(rest.resume_with_async(store, &[Clause::OnAny], &arguments).await?)
        })
    }),
    ("resume_throw_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "cancelled")?;
            let (_, rest) = suspended(rest.resume(&mut *store, &[0.into()])?);
            let cancel = tag(store, instance, "cancel");
            let exception = Exception::new(&mut *store, cancel, &[n.into()])?;
            let resumed = rest.resume_throw_async(&mut *store, &exception).await?;
            let (value, rest) = suspended(resumed);
            returned(rest.resume_async(store, &[(value + 1).into()]).await?)
        })
    }),
    ("TypedContinuation::resume_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "run")?.typed::<i32, i32>(&*store)?;
            let resumed = rest.resume_async(&mut *store, n).await?;
            let Resumed::Suspended { values, continuation, .. } = resumed else {
                panic!("it suspends");
            };
            let rest = continuation.typed::<i32, i32>(&*store)?;
            let value = values[0].i32().unwrap();
            let Resumed::Returned(result) = rest.resume_async(store, value + 1).await? else {
                panic!("it returns");
            };
            Ok(result)
        })
    }),
    ("TypedContinuation::resume_on_async", |store, instance, n| {
        Box::pin(async move {
            let rest = begun(store, instance, "run")?.typed::<i32, i32>(&*store)?;
            let ask = tag(store, instance, "ask").typed::<i32, i32>(&*store)?;
            let resumed = rest.resume_on_async(&mut *store, &ask, n).await?;
            let TypedResumed::Suspended { values, continuation } = resumed else {
                panic!("it suspends");
            };
            let resumed = continuation.resume_on_async(store, &ask, values + 1).await?;
            let TypedResumed::Returned(result) = resumed else { panic!("it returns") };
            Ok(result)
        })
    }),
    ("TypedTask::resume_async", |store, instance, n| {
        Box::pin(async move {
            let new = instance.get_typed_func::<(), Task>(&mut *store, "new task")?;
            let task = new.call(&mut *store, ())?.typed::<i32, i32>(&*store)?;
            let TaskResumed::Suspended(value) = task.resume_async(&mut *store, n).await? else {
                panic!("it suspends");
            };
            let TaskResumed::Finished(result) = task.resume_async(store, value + 1).await? else {
                panic!("it returns");
            };
            Ok(result)
        })
    }),
];

fn tag(store: &mut Store<()>, instance: Instance, name: &str) -> Tag {
    instance.get_tag(store, name).unwrap()
}

/// A continuation of an exported function.
fn begun(store: &mut Store<()>, instance: Instance, name: &str) -> Result<Continuation> {
    let func = instance.get_func(&mut *store, name).unwrap();
    Continuation::new(store, func)
}

#[track_caller]
fn suspended(resumed: Resumed) -> (i32, Continuation) {
    match resumed {
        Resumed::Suspended { values, continuation, .. } => (values[0].i32().unwrap(), continuation),
        Resumed::Returned(results) => panic!("it suspends, and returned {results:?}"),
    }
}

fn returned(resumed: Resumed) -> Result<i32> {
    match resumed {
        Resumed::Returned(results) => Ok(results[0].i32().unwrap()),
        Resumed::Suspended { values, .. } => panic!("it returns, and suspended with {values:?}"),
    }
}

/// Runs a check for each form, in a new store.
fn each(engines: Vec<Engine>, then: Then, check: impl Fn(&str, &mut Store<()>, Instance, Form)) {
    for engine in engines {
        for (name, form) in FORMS {
            let (mut store, instance) = setup(&engine, then);
            check(name, &mut store, instance, form);
            check_empty(&mut store);
        }
    }
}

#[test]
fn each_form_waits_before_and_after_a_suspension() {
    each(all_engines(), double, |name, store, instance, form| {
        for n in [3, -8] {
            let (result, polls) = count_polls(form(store, instance, n));
            assert_eq!(result.unwrap(), 4 * n + 2, "{name}");
            assert_eq!(polls, 7, "{name}");
        }
    });
}

#[test]
fn each_form_may_be_dropped_whenever_it_waits() {
    each(all_engines(), double, |name, store, instance, form| {
        for polls in 0..7 {
            let mut resuming = form(store, instance, 3);
            for _ in 0..polls {
                assert!(poll_once(resuming.as_mut()).is_pending(), "{name}");
            }
            drop(resuming);
            check_empty(store);
        }
        assert_eq!(block_on(form(store, instance, 1)).unwrap(), 6, "{name}");
    });
}

#[test]
fn the_error_of_the_awaited_future_is_the_error_of_each_form() {
    let refuse: Then = |x| if x == 6 { Err(Error::msg("refused")) } else { double(x) };
    each(all_engines(), refuse, |name, store, instance, form| {
        let error = block_on(form(store, instance, 6)).unwrap_err();
        assert!(format!("{error:#}").contains("refused"), "{name}: {error:#}");
        assert_eq!(block_on(form(store, instance, 1)).unwrap(), 6, "{name}");
    });
}

#[test]
fn a_panic_of_the_awaited_future_passes_each_form() {
    let panic: Then = |x| match x {
        6 => std::panic::resume_unwind(Box::new("six")),
        _ => double(x),
    };
    each(all_engines(), panic, |name, store, instance, form| {
        let resumed = catch_unwind(AssertUnwindSafe(|| block_on(form(store, instance, 6))));
        assert_eq!(resumed.unwrap_err().downcast_ref(), Some(&"six"), "{name}");
        assert_eq!(block_on(form(store, instance, 1)).unwrap(), 6, "{name}");
    });
}

/// Resumes a continuation that waits, and then suspends with the unhandled tag `ask`.
#[track_caller]
fn traps(
    engine: &Engine,
    resume: impl for<'a> Fn(Continuation, &'a mut Store<()>, Instance) -> Resuming<'a>,
) {
    let (mut store, instance) = setup(engine, double);
    let rest = begun(&mut store, instance, "run").unwrap();
    let error = block_on(resume(rest, &mut store, instance)).unwrap_err();
    let trap = error.downcast_ref::<Trap>().expect("a trap");
    assert_eq!(trap.code(), TrapCode::UnhandledTag, "{error:#}");
    check_empty(&mut store);
}

#[test]
fn a_tag_that_the_host_does_not_handle_is_a_trap_after_waiting_too() {
    for engine in all_engines() {
        traps(&engine, |rest, store, instance| {
            Box::pin(async move {
                let tags = [tag(store, instance, "other")];
                returned(rest.resume_on_async(store, &tags, &[3.into()]).await?)
            })
        });
        traps(&engine, |rest, store, _| {
            Box::pin(
                async move { returned(rest.resume_with_async(store, &[], &[3.into()]).await?) },
            )
        });
        traps(&engine, |rest, store, instance| {
            Box::pin(async move {
                let other = tag(store, instance, "other").typed::<i32, i32>(&*store)?;
                let rest = rest.typed::<i32, i32>(&*store)?;
                match rest.resume_on_async(store, &other, 3).await? {
                    TypedResumed::Returned(result) => Ok(result),
                    TypedResumed::Suspended { .. } => panic!("the tag is not handled"),
                }
            })
        });
    }
}

#[test]
fn an_exception_that_nothing_catches_is_the_error_of_throwing() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, double)) {
        let rest = begun(&mut store, instance, "run").unwrap();
        let (_, rest) = suspended(block_on(rest.resume_async(&mut store, &[1.into()])).unwrap());
        let cancel = tag(&mut store, instance, "cancel");
        let exception = Exception::new(&mut store, cancel, &[5.into()]).unwrap();
        let thrown = block_on(rest.resume_throw_async(&mut store, &exception)).unwrap_err();
        let thrown = thrown.downcast_ref::<Exception>().expect("an exception");
        assert_eq!(thrown.tag(&mut store).unwrap(), cancel);
        drop(exception);
        check_empty(&mut store);
    }
}

#[test]
fn handles_of_another_store_are_refused_before_anything_waits() {
    let engine = Engine::default();
    let (mut store, instance) = setup(&engine, double);
    let (mut other, elsewhere) = setup(&engine, double);
    let foreign = tag(&mut other, elsewhere, "ask");
    let rest = begun(&mut store, instance, "run").unwrap();
    let (refused, polls) = count_polls(rest.resume_on_async(&mut store, &[foreign], &[1.into()]));
    assert!(refused.unwrap_err().is::<WrongStore>());
    assert_eq!(polls, 1);
    let rest = begun(&mut store, instance, "run").unwrap();
    let refused = block_on(rest.resume_with_async(&mut other, &[], &[1.into()]));
    assert!(refused.unwrap_err().is::<WrongStore>());
    check_empty(&mut store);
}

#[test]
fn the_limit_of_a_continuation_ends_with_it_though_it_has_waited() {
    let (mut store, instance) = setup(&Engine::default(), double);
    for throws in [false, true] {
        let rest = begun(&mut store, instance, if throws { "cancelled" } else { "run" }).unwrap();
        rest.set_max_stack(&mut store, 64 << 10).unwrap();
        let (value, rest) =
            suspended(block_on(rest.resume_async(&mut store, &[1.into()])).unwrap());
        let rest = match throws {
            false => rest,
            true => {
                let cancel = tag(&mut store, instance, "cancel");
                let exception = Exception::new(&mut store, cancel, &[5.into()]).unwrap();
                let resumed = block_on(rest.resume_throw_async(&mut store, &exception));
                suspended(resumed.unwrap()).1
            }
        };
        returned(block_on(rest.resume_async(&mut store, &[value.into()])).unwrap()).unwrap();
        // Another continuation has its stack now, and more room.
        let deep = begun(&mut store, instance, "deep").unwrap();
        let resumed = deep.resume(&mut store, &[100_000.into()]).unwrap();
        assert_eq!(returned(resumed).unwrap(), 100_000);
    }
    check_empty(&mut store);
}
