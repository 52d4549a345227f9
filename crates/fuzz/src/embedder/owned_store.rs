//! Actions on an owned store.

use super::Verdict;
use super::borrowed_store::{self, failed, judged, poll_once, returned};
use super::callbacks::{Decides, Failure, Limits, Writes};
use super::case::{Act, Action, Call, CallbackSite, Calls, Due, End, Manner, OwnedAction};
use super::module::CAUGHT;
use super::site::{Reply, Site, WhenDropped};
use super::world::{Data, World};
use crate::lock;
use crate::turns::List;
use ropewalk::*;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Performs an action, and records problems.
pub fn perform(world: &Arc<World>, store: &mut Store<Data>, due: &Due, own: &OwnedAction) {
    world.add_due(due);
    judged(world, || world.note(run(world, store, own)));
}

fn run(world: &Arc<World>, store: &mut Store<Data>, own: &OwnedAction) -> Verdict {
    let site = store.data().site.clone();
    // Some engines lack features.
    match own {
        OwnedAction::Limiter => store.limiter(Limits::new(&site)),
        OwnedAction::LimiterAsync => store.limiter_async(Decides(Limits::new(&site))),
        OwnedAction::NoLimiter => store.limiter(StoreLimits::default()),
        OwnedAction::OutOfFuel(fuel) => drop(out_of_fuel(store, *fuel)),
        OwnedAction::FuelInterval(fuel) => {
            let interval = (*fuel > 0).then_some(50 + u64::from(*fuel));
            let _ = store.fuel_async_yield_interval(interval);
        }
        OwnedAction::OnSnapshot => on_snapshot(store),
        OwnedAction::RequestSnapshot => {
            let handle = lock(&site.tally.snapshots).clone();
            handle.inspect(|handle| handle.request());
        }
        OwnedAction::OnEvent => {
            let listener = move |_: &traces::Event| {
                site.meet(CallbackSite::StackEvent, None);
            };
            let _ = store.on_stack_event(listener);
        }
        OwnedAction::AtEvent(number) => {
            let then = move |_| {
                site.meet(CallbackSite::StackEvent, None);
            };
            let _ = store.at_stack_event(u64::from(*number) + 1, then);
        }
        OwnedAction::Stream => drop(store.stream_trace(Writes(site), "program", WhenBehind::Wait)),
        OwnedAction::FinishTrace => drop(store.finish_trace()),
        OwnedAction::TimeSlice(on) => {
            let _ = store.set_time_slice(on.then_some(Duration::from_micros(200)));
        }
        OwnedAction::Restore { exchange, replace } => {
            return restore(world, store, *exchange, *replace);
        }
        OwnedAction::Many { calls, threads, limit } => {
            return many(world, store, calls, *threads, usize::from(*limit % 4));
        }
        OwnedAction::Profile => {
            let _ = store.start_profile(Duration::from_millis(1));
            borrowed_store::run(&mut store.as_context_mut(), world, &Action::Busy(3))?;
            let _ = store.take_profile();
        }
        OwnedAction::Stacks => {
            store.keep_stacks_of_failure(3);
            borrowed_store::run(&mut store.as_context_mut(), world, &Action::Trap)?;
            let stacks = store.take_stacks_of_failure();
            let _ = stacks.map(|stacks| store.core_dump("program", &stacks));
            let _ = store.take_trace();
        }
    }
    Ok(())
}

fn out_of_fuel(store: &mut Store<Data>, fuel: u8) -> Result<()> {
    let site = store.data().site.clone();
    // The call in the hook has its own fuel, or ends without it.
    let gives = fuel.is_multiple_of(2);
    if !gives {
        site.tally.excuse();
    }
    let dropped = WhenDropped(site.clone(), CallbackSite::DropClosure);
    store.on_out_of_fuel(move |mut store| {
        let _ = &dropped;
        if gives {
            store.set_fuel(1 << 40)?;
        }
        match site.meet(CallbackSite::OutOfFuel, Some(store)) {
            Reply::Usual => Ok(OutOfFuel::Continue(500 + u64::from(fuel))),
            Reply::Wait(_) => Ok(OutOfFuel::Yield(500)),
            Reply::Fail => Err(Failure(site.clone()).into()),
            _ => Ok(OutOfFuel::Trap),
        }
    })?;
    store.set_fuel(u64::from(fuel) * 8)
}

/// The options of a snapshot.
pub fn options(data: &Data) -> SnapshotOptions {
    let site = data.site.clone();
    let mut options = SnapshotOptions::new();
    if let Some(instance) = data.instance {
        options.name_instance("main", instance);
    }
    options.write_host_values(move |_| match site.meet(CallbackSite::WriteValue, None) {
        Reply::Usual => Ok(vec![7]),
        _ => Err(Failure(site.clone()).into()),
    });
    options
}

fn on_snapshot(store: &mut Store<Data>) {
    let site = store.data().site.clone();
    let dropped = WhenDropped(site.clone(), CallbackSite::DropClosure);
    let taken = move |store: StoreContextMut<'_, Data>, snapshot: Result<Snapshot>| {
        let _ = (&dropped, snapshot);
        match site.meet(CallbackSite::Snapshot, Some(store)) {
            Reply::Usual => Ok(()),
            _ => Err(Failure(site.clone()).into()),
        }
    };
    if let Ok(handle) = store.on_snapshot_request(options(store.data()), taken) {
        handle.request();
        *lock(&store.data().site.tally.snapshots) = Some(handle);
    }
}

/// Restores a store from a snapshot of another one.
pub fn restored(world: &World, store: &mut Store<Data>) -> Result<Restored<Data>> {
    let snapshot = store.snapshot(&options(store.data()))?;
    restored_from(world, store.data(), &snapshot)
}

fn restored_from(world: &World, from: &Data, snapshot: &Snapshot) -> Result<Restored<Data>> {
    let (site, compiled) = (from.site.clone(), from.compiled);
    let mut restoring = Restoring::new(&compiled.engine, [compiled.module.clone()]);
    let reading = site.clone();
    restoring.functions(&from.linker)?.read_host_values(move |_| {
        match reading.meet(CallbackSite::ReadValue, None) {
            Reply::Usual => Ok(Box::new(WhenDropped(reading.clone(), CallbackSite::DropValue))),
            _ => Err(Failure(reading.clone()).into()),
        }
    });
    let data = world.data(site, compiled, from.linker.clone());
    let mut restored = snapshot.restore_by(&restoring, data)?;
    restored.store.data_mut().instance = Some(restored.instance("main")?);
    restored.store.set_fuel(u64::MAX / 2)?;
    Ok(restored)
}

/// Resumes the call that took a snapshot, if there is one, in a restored store.
pub fn resume(from: &Data, snapshot: Result<Snapshot>) {
    let (Some(world), Ok(snapshot)) = (from.site.world(), snapshot) else { return };
    judged(&world, || {
        let Ok(mut restored) = restored_from(&world, from, &snapshot) else { return };
        for call in std::mem::take(&mut restored.calls) {
            world.note(resume_call(&mut restored.store, call));
        }
        let busy = Act { due: List(vec![]), action: Action::Busy(2) };
        borrowed_store::perform(&mut restored.store.as_context_mut(), &busy);
    });
}

/// The result of the host function is the result of the call that waits for it.
fn resume_call(store: &mut Store<Data>, call: RestoredCall) -> Verdict {
    let site = store.data().site.clone();
    let waits_for_host = call.import().is_some() && !call.is_continuation();
    let given: Vec<_> = call.awaited().iter().map(|_| Val::I32(41)).collect();
    match call.resume(store, &given) {
        Ok(found) if waits_for_host => {
            let found = found.first().and_then(Val::i32);
            returned(&site, "a restored call", Ok(found), Some(41), Some(CAUGHT))
        }
        Ok(_) => Ok(()),
        Err(error) => failed(&site, "a restored call", error),
    }
}

fn restore(world: &Arc<World>, store: &mut Store<Data>, exchange: bool, replace: bool) -> Verdict {
    borrowed_store::run(&mut store.as_context_mut(), world, &Action::Value)?;
    // Unnamed host references make many snapshots fail.
    let Ok(mut restored) = restored(world, store) else { return Ok(()) };
    let number = restored.store.data().number;
    if exchange {
        world.with_store(1, |other| std::mem::swap(other, &mut restored.store));
    }
    let is_own = restored.store.data().number == number;
    let instance = restored.instance("main").map_err(|error| format!("{error:?}"))?;
    let busy = instance.get_typed_func::<i32, i32>(&mut restored.store, "busy");
    if busy.is_ok() != is_own {
        return Err(format!("a function of the store: {}; its own: {is_own}", busy.is_ok()));
    }
    for (index, call) in std::mem::take(&mut restored.calls).into_iter().enumerate() {
        let results: Vec<_> = call.awaited().iter().map(|_| Val::I32(1)).collect();
        let worked = match index % 3 {
            0 => call.resume(&mut restored.store, &results).is_ok(),
            1 => call.cancel(&mut restored.store).is_ok(),
            _ => false,
        };
        if worked && !is_own {
            return Err("a call of another store was resumed".to_string());
        }
    }
    borrowed_store::run(&mut restored.store.as_context_mut(), world, &Action::Busy(5))?;
    if replace && is_own {
        *lock(&store.data().site.tally.interrupts) = restored.store.interrupt_handle().ok();
        lock(&store.data().site.tally.snapshots).take();
        drop(std::mem::replace(store, restored.store));
    }
    Ok(())
}

type ManyCall<'a> = Pin<Box<dyn Future<Output = Result<i32>> + Send + 'a>>;

fn many(
    world: &Arc<World>,
    store: &mut Store<Data>,
    List(calls): &Calls,
    threads: bool,
    limit: usize,
) -> Verdict {
    let site = store.data().site.clone();
    let through = borrowed_store::through(&mut store.as_context_mut())?;
    // A forgotten call counts forever.
    let is_limited = limit > 0 && calls.iter().all(|(_, manner)| manner.end != End::Forget);
    block_on(store.run_concurrent(async |accessor| {
        if is_limited {
            accessor.set_limit(limit);
        }
        let begun = calls.iter().map(|(call, manner)| {
            let future = through.call_concurrent(accessor, borrowed_store::words(*call));
            let future: ManyCall<'_> = Box::pin(future);
            (*call, *manner, future)
        });
        match threads {
            true => on_threads(world, &site, begun.collect()),
            false => in_turns(world, &site, begun.collect()).await,
        }
        borrowed_store::perform_by(accessor, &Act { due: List(vec![]), action: Action::Busy(1) });
    }));
    Ok(())
}

/// Makes each call on its own thread.
fn on_threads(world: &World, site: &Site, calls: Vec<(Call, Manner, ManyCall<'_>)>) {
    thread::scope(|scope| {
        for (call, manner, future) in calls {
            scope.spawn(move || {
                judged(world, || {
                    ended(world, site, call, borrowed_store::drive(site, future, manner))
                });
            });
        }
    });
}

/// Polls the calls in turn.
async fn in_turns(world: &World, site: &Site, calls: Vec<(Call, Manner, ManyCall<'_>)>) {
    let mut calls: Vec<_> = calls.into_iter().map(Some).collect();
    let mut round = 0_u32;
    poll_fn(|_| {
        for slot in &mut calls {
            judged(world, || turn(world, site, slot, round));
        }
        round += 1;
        match calls.iter().all(Option::is_none) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// Polls, drops or forgets an active call. A call that panics has ended.
fn turn(world: &World, site: &Site, slot: &mut Option<(Call, Manner, ManyCall<'_>)>, round: u32) {
    let Some((call, manner, mut future)) = slot.take() else { return };
    if manner.end != End::Ready && round >= u32::from(manner.polls % 8) {
        if manner.end == End::Forget {
            site.tally.forget();
            std::mem::forget(future);
        }
        return;
    }
    match poll_once(site, future.as_mut(), manner, round % 2 == 1) {
        Poll::Ready(result) => ended(world, site, call, Some(result)),
        Poll::Pending => *slot = Some((call, manner, future)),
    }
}

fn ended(world: &World, site: &Site, call: Call, result: Option<Result<i32>>) {
    if let Some(result) = result {
        world.note(returned(site, call, result, borrowed_store::called(call), CAUGHT));
    }
}

fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let mut context = task::Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Checks that a store can be restored from its snapshot.
pub fn survives(world: &Arc<World>, store: &mut Store<Data>) -> Verdict {
    let site = store.data().site.clone();
    match restored(world, store) {
        Ok(mut restored) => {
            borrowed_store::run(&mut restored.store.as_context_mut(), world, &Action::Busy(3))
        }
        Err(error) => failed(&site, "a snapshot", error),
    }
}
