//! Actions on a borrowed store.

use super::callbacks;
use super::case::{Act, Action, Call, CallbackSite, End, Manner, Path};
use super::design_stacks;
use super::handles::{self, Handle, KeptHandle};
use super::module::{CAUGHT, spun};
use super::site::{Bomb, Site, WhenDropped};
use super::world::{Data, World};
use super::{Context, Verdict};
use ropewalk::*;
use std::any::Any;
use std::fmt::{Debug, Write};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::thread;
use std::time::Instant;

/// The panic message of a callback.
pub const PANIC: &str = "the embedder panics";

/// Runs `work`, and records problems. The embedder's own panics are expected. Returns whether
/// there was one.
pub fn judged(world: &World, work: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else { return false };
    if let Some(message) = foreign(&*panic) {
        world.note(Err(format!("a panic of the engine: {message}")));
    }
    // Dropping it may panic.
    std::mem::forget(panic);
    true
}

/// The message of a panic that is not the embedder's.
fn foreign(panic: &(dyn Any + Send)) -> Option<String> {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        _ if panic.is::<Bomb>() => None,
        (Some(&PANIC), _) => None,
        (Some(message), _) => Some(message.to_string()),
        (_, Some(message)) => Some(message.clone()),
        _ => Some("with a value".to_string()),
    }
}

/// Performs an action on a store, and records problems.
pub fn perform(store: &mut Context<'_>, act: &Act) {
    let Some(world) = store.data().site.world() else { return };
    world.add_due(&act.due);
    judged(&world, || world.note(run(store, &world, &act.action)));
}

/// Like `perform`, through an accessor.
pub fn perform_by(accessor: &Accessor<Data>, act: &Act) {
    accessor.with(|mut store| perform(&mut store, act));
}

/// Performs an action on a store.
pub fn run(store: &mut Context<'_>, world: &Arc<World>, action: &Action) -> Verdict {
    let site = store.data().site.clone();
    match action {
        Action::Call(call) => {
            let result = through(store)?.call(&mut *store, words(*call));
            returned(&site, call, result, called(*call), CAUGHT)
        }
        Action::Poll(call, manner) => {
            let through = through(store)?;
            let future = Box::pin(through.call_async(store.as_context_mut(), words(*call)));
            match drive(&site, future, *manner) {
                Some(result) => returned(&site, call, result, called(*call), CAUGHT),
                None => Ok(()),
            }
        }
        Action::Busy(n) => number(store, "busy", i32::from(n % 16) + 1),
        Action::Suspended(n) => number(store, "suspended", i32::from(*n) * 4),
        Action::Objects(n) => number(store, "objects", i32::from(*n) + 1),
        Action::Spin(n) => {
            let n = (i32::from(*n) + 1) * 2;
            let result = typed::<i32, i64>(store, "spin")?.call(&mut *store, n);
            returned(&site, "spin", result, spun(n), spun(n))
        }
        Action::GrowMemory { by_host, too_far } => grow_memory(store, *by_host, *too_far),
        Action::GrowTable { by_host } => grow_table(store, *by_host),
        Action::Trap => trap(store),
        Action::Value => value(store),
        Action::Gc => {
            store.gc();
            Ok(())
        }
        Action::Park => {
            store.park_idle();
            Ok(())
        }
        Action::Fuel(fuel) => {
            let few = fuel % 4 == 0;
            if few {
                site.tally.excuse();
            }
            let _ = store.set_fuel(if few { u64::from(*fuel) * 4 } else { u64::MAX / 2 });
            Ok(())
        }
        Action::Deadline => {
            site.tally.excuse();
            let _ = store.set_deadline(Some(Instant::now()));
            Ok(())
        }
        Action::Inspect => {
            if let Ok(stacks) = store.as_context().stacks() {
                let _ = (stacks.to_string(), store.as_context().core_dump("program", &stacks));
            }
            Ok(())
        }
        Action::Instantiate => {
            let (linker, compiled) = (store.data().linker.clone(), store.data().compiled);
            let made = linker.instantiate(&mut *store, &compiled.module);
            made.map(drop).or_else(|error| failed(&site, "an instance", error))
        }
        Action::InstantiateAsync(manner) => {
            let (linker, compiled) = (store.data().linker.clone(), store.data().compiled);
            let future = linker.instantiate_async(store.as_context_mut(), &compiled.module);
            match drive(&site, Box::pin(future), *manner) {
                Some(Err(error)) => failed(&site, "an instance", error),
                _ => Ok(()),
            }
        }
        Action::GrowAsync(manner) => {
            let memory = handles::memory(store)?;
            let future = memory.grow_async(store.as_context_mut(), 1);
            drive(&site, Box::pin(future), *manner);
            Ok(())
        }
        Action::Stack(design, call) => design_stacks::begin(store, world, *design, *call),
        Action::StackAsync(design, call, manner) => {
            design_stacks::poll(store, world, *design, *call, *manner)
        }
        Action::Continue(n, keep) => begin(store, world, *n % 8, *keep % 8),
        Action::Keep(which) => handles::keep(store, world, *which),
        Action::Use(which) => match world.take_thing(*which) {
            Some(kept) => handles::use_one(store, world, kept),
            None => Ok(()),
        },
        Action::UseAll => {
            let all = world.take_things();
            all.into_iter().try_for_each(|kept| handles::use_one(store, world, kept))
        }
        Action::Drop(which) => {
            drop(world.take_thing(*which));
            Ok(())
        }
        Action::Scope(act, forget) => {
            let mut scope = RootScope::new(&mut *store);
            perform(&mut scope.as_context_mut(), act);
            if *forget {
                std::mem::forget(scope);
            }
            Ok(())
        }
    }
}

/// An exported function.
pub fn typed<P: WasmParams, R: WasmResults>(
    store: &mut Context<'_>,
    name: &str,
) -> Verdict<TypedFunc<P, R>> {
    let instance = store.data().instance.ok_or("the store has no instance")?;
    let func = instance.get_typed_func(&mut *store, name);
    func.map_err(|error| format!("no export {name:?}: {error:?}"))
}

pub fn through(store: &mut Context<'_>) -> Verdict<TypedFunc<(i32, i32, i32), i32>> {
    typed(store, "through")
}

/// Its arguments.
pub fn words(call: Call) -> (i32, i32, i32) {
    (call.path as i32, call.kind as i32, i32::from(call.x))
}

/// Its result.
pub fn called(call: Call) -> i32 {
    i32::from(call.x) + 1
}

pub fn number(store: &mut Context<'_>, name: &str, n: i32) -> Verdict {
    let result = typed::<i32, i32>(store, name)?.call(&mut *store, n);
    let site = store.data().site.clone();
    returned(&site, name, result, n, n)
}

/// Checks the result of a call. A call that may fail may also return something else.
pub fn returned<R: PartialEq + Debug>(
    site: &Site,
    what: impl Debug,
    result: Result<R>,
    expected: R,
    or: R,
) -> Verdict {
    match result {
        Ok(found) if found == expected || found == or && site.tally.is_excused() => Ok(()),
        Ok(found) => Err(format!("{what:?} returned {found:?}, expected {expected:?}")),
        Err(error) => failed(site, what, error),
    }
}

/// Checks that a failure had a reason.
pub fn failed(site: &Site, what: impl Debug, error: Error) -> Verdict {
    let is_confused =
        error.downcast_ref::<Trap>().is_some_and(|trap| trap.code() == TrapCode::Unreachable);
    if site.tally.is_excused() && !is_confused {
        // Formatting may run a callback. Its result does not matter.
        let _ = write!(String::new(), "{error:?}");
        return Ok(());
    }
    if let Some(world) = site.world() {
        world.clear_due();
    }
    let found = if is_confused { "found other values" } else { "failed without a reason" };
    Err(format!("{what:?} {found}: {error:?}"))
}

/// Polls a future as `manner` says. Returns `None` if it was abandoned before it was ready.
pub fn drive<R: Send>(
    site: &Site,
    mut future: Pin<Box<dyn Future<Output = R> + Send + '_>>,
    manner: Manner,
) -> Option<R> {
    let mut polls = 0;
    loop {
        match manner.end {
            End::Drop if polls >= manner.polls % 8 => return None,
            End::Forget if polls >= manner.polls % 8 => {
                site.tally.forget();
                std::mem::forget(future);
                return None;
            }
            _ => {}
        }
        if let Poll::Ready(result) = poll_once(site, future.as_mut(), manner, polls % 2 == 1) {
            return Some(result);
        }
        polls = polls.saturating_add(1);
        // Lets other threads run.
        thread::yield_now();
    }
}

pub fn poll_once<R: Send>(
    site: &Site,
    future: Pin<&mut (dyn Future<Output = R> + Send + '_)>,
    manner: Manner,
    is_odd: bool,
) -> Poll<R> {
    let waker = if manner.wakes { callbacks::waker(site) } else { Waker::noop().clone() };
    let poll = || future.poll(&mut task::Context::from_waker(&waker));
    let polled = match manner.elsewhere && is_odd {
        false => poll(),
        true => thread::scope(|scope| scope.spawn(poll).join())
            .unwrap_or_else(|panic| resume_unwind(panic)),
    };
    // Its drop may panic. At the end of the function, that would leak the returned value.
    drop(waker);
    polled
}

/// Calls a function that faults.
fn trap(store: &mut Context<'_>) -> Verdict {
    let site = store.data().site.clone();
    let result = typed::<i32, i32>(store, "fault")?.call(&mut *store, 0);
    let Err(error) = result else { return Err("a load outside of memory succeeded".to_string()) };
    match error.downcast_ref::<Trap>() {
        Some(trap) if trap.code() == TrapCode::MemoryOutOfBounds => Ok(()),
        _ => failed(&site, "a fault", error),
    }
}

fn grow_memory(store: &mut Context<'_>, by_host: bool, too_far: bool) -> Verdict {
    let pages = if too_far { 100_000 } else { 1 };
    let has_grown = match by_host {
        true => handles::memory(store)?.grow(&mut *store, pages).is_ok(),
        false => {
            let grow = typed::<i32, i32>(store, "grow memory")?;
            grow.call(&mut *store, pages as i32).is_ok_and(|before| before != -1)
        }
    };
    match has_grown && too_far {
        true => Err("a memory grew beyond its maximum".to_string()),
        false => Ok(()),
    }
}

fn grow_table(store: &mut Context<'_>, by_host: bool) -> Verdict {
    match by_host {
        true => drop(handles::table(store)?.grow(&mut *store, 1, Val::ExternRef(None))),
        false => drop(typed::<i32, i32>(store, "grow table")?.call(&mut *store, 1)),
    }
    Ok(())
}

/// Passes a host value to WebAssembly, which keeps it until the next one.
fn value(store: &mut Context<'_>) -> Verdict {
    let site = store.data().site.clone();
    let value = WhenDropped(site.clone(), CallbackSite::DropValue);
    let value = match ExternRef::new(&mut *store, value) {
        Ok(value) => value,
        Err(error) => return failed(&site, "a value of the host", error),
    };
    let kept = handles::global(store)?;
    match kept.set(&mut *store, Val::ExternRef(Some(value))) {
        Ok(()) => {}
        Err(error) => return failed(&site, "a global", error),
    }
    let found = kept.get(&mut *store).ok().and_then(|value| match value {
        Val::ExternRef(found) => found,
        _ => None,
    });
    let is_it = |value: &(dyn Any + Send + Sync)| value.is::<WhenDropped>();
    match found.and_then(|found| found.data(store).ok().map(is_it)) {
        Some(true) => Ok(()),
        _ if site.tally.is_excused() => Ok(()),
        _ => Err("a global lost its value".to_string()),
    }
}

/// Creates a continuation that suspends a number of times, and keeps it after some of them.
fn begin(store: &mut Context<'_>, world: &World, n: u8, keep: u8) -> Verdict {
    let site = store.data().site.clone();
    let instance = store.data().instance.ok_or("the store has no instance")?;
    let steps = instance.get_func(&mut *store, "steps").ok_or("no export \"steps\"")?;
    match Continuation::new(&mut *store, steps) {
        Ok(made) => resume_and_check(store, world, made, Val::I32(n.into()), n.into(), keep),
        Err(error) => failed(&site, "a continuation", error),
    }
}

/// Resumes a continuation until it returns or is kept.
pub fn resume_and_check(
    store: &mut Context<'_>,
    world: &World,
    mut continuation: Continuation,
    mut argument: Val,
    expected: i32,
    keep: u8,
) -> Verdict {
    let site = store.data().site.clone();
    for resumed in 0.. {
        match continuation.resume(&mut *store, &[argument]) {
            Ok(Resumed::Suspended { continuation: rest, .. }) if resumed == keep => {
                let handle = Handle::Held(rest, expected);
                world.keep(KeptHandle { store: store.data().number, handle });
                return Ok(());
            }
            Ok(Resumed::Suspended { continuation: rest, .. }) => continuation = rest,
            Ok(Resumed::Returned(results)) => {
                let found = results.first().and_then(Val::i32);
                return returned(&site, "steps", Ok(found), Some(expected), Some(expected));
            }
            Err(error) => return failed(&site, "a continuation", error),
        }
        argument = Val::I32(1);
    }
    Ok(())
}

impl Path {
    /// All paths to a host function that fail only if the host function does.
    pub const ALL: [Path; 5] =
        [Path::Direct, Path::Continuation, Path::Handled, Path::Caught, Path::Deep];
}
