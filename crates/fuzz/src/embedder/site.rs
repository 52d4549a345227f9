//! Performs the acts of callbacks.

use super::Context;
use super::borrowed_store::{self, PANIC, judged};
use super::case::{Act, CallbackAct, CallbackSite};
use super::owned_store;
use super::world::{Tally, World};
use crate::lock;
use ropewalk::{AsContextMut, Store};
use std::panic::panic_any;
use std::sync::{Arc, Weak};
use std::thread;

/// The case and the store of a callback. It does not keep the case alive, since the case's stores
/// have callbacks.
#[derive(Clone)]
pub struct Site {
    world: Weak<World>,
    pub tally: Arc<Tally>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Normally.
    Usual,
    Fail,
    Throw,
    Suspend,
    Snapshot,
    /// Pending for a number of polls, if it is a future.
    Wait(u8),
}

/// A panic value that panics when it is dropped.
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic_any(PANIC);
        }
    }
}

impl Site {
    pub fn new(world: &Arc<World>) -> Site {
        Site { world: Arc::downgrade(world), tally: Arc::default() }
    }

    pub fn world(&self) -> Option<Arc<World>> {
        self.world.upgrade()
    }

    /// Called by the callback of a place, with or without a store.
    pub fn meet(&self, place: CallbackSite, store: Option<Context<'_>>) -> Reply {
        let Some(world) = self.world() else { return Reply::Usual };
        let Some(act) = world.next_act(place) else { return Reply::Usual };
        match act {
            CallbackAct::Panic => {
                self.tally.excuse();
                panic_any(PANIC);
            }
            CallbackAct::PanicWithBomb => {
                self.tally.excuse();
                panic_any(Bomb);
            }
            CallbackAct::Fail => self.excused(Reply::Fail),
            CallbackAct::Throw => self.excused(Reply::Throw),
            CallbackAct::Suspend => self.excused(Reply::Suspend),
            CallbackAct::Snapshot => self.excused(Reply::Snapshot),
            // A synchronous call cannot wait.
            CallbackAct::Wait(polls) => self.excused(Reply::Wait(polls)),
            act => {
                world.nested(|| self.perform(&world, act, store));
                Reply::Usual
            }
        }
    }

    fn excused(&self, reply: Reply) -> Reply {
        self.tally.excuse();
        reply
    }

    fn perform(&self, world: &Arc<World>, act: CallbackAct, store: Option<Context<'_>>) {
        match act {
            CallbackAct::Act(act) => self.act(world, &act, store),
            CallbackAct::ActOnAnotherThread(act) => {
                on_another_thread(world, || self.act(world, &act, store));
            }
            CallbackAct::ActOnAnother(which, act) => act_on(world, which, &act),
            CallbackAct::ActOnAnotherOnAnotherThread(which, act) => {
                on_another_thread(world, || act_on(world, which, &act));
            }
            CallbackAct::SwapContexts(which, act) => swap_contexts(world, which, &act, store),
            CallbackAct::OwnAnother(which, due, act) => {
                world.with_store(which, |other| owned_store::perform(world, other, &due, &act));
            }
            CallbackAct::SwapStores(a, b) => world.swap_stores(a, b),
            CallbackAct::DropStore(which) => {
                world.with_store(which, |other| replace(world, which, other));
            }
            CallbackAct::DropHandles(count) => {
                for which in 0..count % 16 {
                    judged(world, || drop(world.take_thing(which)));
                }
            }
            CallbackAct::Interrupt(which) => self.interrupt(world, which),
            CallbackAct::RequestSnapshot => {
                let handle = lock(&self.tally.snapshots).clone();
                handle.inspect(|handle| handle.request());
            }
            CallbackAct::UseStack => assert_eq!(use_stack(100), 100),
            CallbackAct::Panic | CallbackAct::PanicWithBomb | CallbackAct::Fail => {}
            CallbackAct::Throw
            | CallbackAct::Suspend
            | CallbackAct::Snapshot
            | CallbackAct::Wait(_) => {}
        }
    }

    fn act(&self, world: &Arc<World>, act: &Act, store: Option<Context<'_>>) {
        match store {
            Some(mut store) => borrowed_store::perform(&mut store, act),
            None => act_on(world, 0, act),
        }
    }

    /// Interrupts this store, or one that is not in use.
    fn interrupt(&self, world: &World, which: u8) {
        let other = || world.with_store(which, |store| store.data().site.tally.clone());
        let tally = match which % 4 {
            3 => other().unwrap_or_else(|| self.tally.clone()),
            _ => self.tally.clone(),
        };
        tally.excuse();
        let handle = lock(&tally.interrupts).clone();
        handle.inspect(|handle| handle.interrupt());
    }
}

/// Uses a store that is not in use, starting at `which`.
fn act_on(world: &Arc<World>, which: u8, act: &Act) {
    let used = |which: u8| {
        world
            .with_store(which, |store| borrowed_store::perform(&mut store.as_context_mut(), act))
            .is_some()
    };
    let _ = used(which) || used(which.wrapping_add(1));
}

/// Swaps the borrowed store with another one, and uses both.
fn swap_contexts(world: &Arc<World>, which: u8, act: &Act, store: Option<Context<'_>>) {
    let Some(mut store) = store else { return act_on(world, which, act) };
    world.with_store(which, |other| {
        let mut other = other.as_context_mut();
        let (mut a, mut b) = (store.as_context_mut(), other.as_context_mut());
        std::mem::swap(&mut a, &mut b);
        borrowed_store::perform(&mut a, act);
        borrowed_store::perform(&mut b, act);
    });
}

/// Replaces a store that is not in use by a new one.
pub fn replace(world: &Arc<World>, which: u8, store: &mut Store<super::world::Data>) {
    match world.make(which as usize) {
        Ok(new) => {
            judged(world, || drop(std::mem::replace(store, new)));
        }
        Err(error) => world.note(Err(format!("a new store cannot be made: {error}"))),
    }
}

fn on_another_thread(world: &World, work: impl FnOnce() + Send) {
    judged(world, || {
        let joined = thread::scope(|scope| scope.spawn(work).join());
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Uses a kilobyte of stack for each level.
fn use_stack(depth: usize) -> usize {
    let bytes = std::hint::black_box([depth as u8; 1 << 10]);
    match depth {
        0 => 0,
        _ => 1 + use_stack(depth - 1) + usize::from(bytes[0] != depth as u8),
    }
}

/// Runs a callback when it is dropped.
pub struct WhenDropped(pub Site, pub CallbackSite);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.meet(self.1, None);
    }
}
