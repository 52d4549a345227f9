//! The state that all callbacks of a case share.

use super::callbacks::{Decides, Limits};
use super::case::{CallbackAct, CallbackSite, Due, DueAct};
use super::handles::{Handle, KeptHandle};
use super::host;
use super::modes::Compiled;
use super::site::{Site, WhenDropped};
use crate::lock;
use ropewalk::{Instance, InterruptHandle, Linker, SnapshotHandle, Store};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The number of stores of a case.
pub const STORES: usize = 3;

/// The maximum nesting of actions.
const DEPTH: usize = 6;

/// The maximum number of kept handles.
const HANDLES: usize = 64;

/// No mutex is locked during a callback.
pub struct World {
    pub compiled: [&'static Compiled; 2],
    /// The stores that are not in use. A store in use is taken out.
    stores: Mutex<Vec<Option<Store<Data>>>>,
    things: Mutex<Vec<KeptHandle>>,
    due: Mutex<Vec<DueAct>>,
    /// Whether any act is due, for a quick test.
    is_due: AtomicBool,
    depth: AtomicUsize,
    next: AtomicU64,
    /// The sites where a act was done.
    done: Mutex<HashSet<CallbackSite>>,
    wrong: Mutex<Option<String>>,
}

/// The data of a store.
pub struct Data {
    pub site: Site,
    pub number: u64,
    pub compiled: &'static Compiled,
    pub instance: Option<Instance>,
    pub linker: Arc<Linker<Data>>,
    _dropped: WhenDropped,
}

/// Facts about a store, shared with the stores restored from its snapshots.
#[derive(Default)]
pub struct Tally {
    /// Whether a call may fail because of a callback.
    excused: AtomicBool,
    /// Whether a pending call's future was forgotten.
    forgot: AtomicBool,
    pub interrupts: Mutex<Option<InterruptHandle>>,
    pub snapshots: Mutex<Option<SnapshotHandle>>,
}

impl Tally {
    pub fn excuse(&self) {
        self.excused.store(true, Ordering::SeqCst);
    }

    pub fn is_excused(&self) -> bool {
        self.excused.load(Ordering::SeqCst)
    }

    /// Calls may not fail from now on.
    pub fn expect_success(&self) {
        self.excused.store(false, Ordering::SeqCst);
    }

    pub fn forget(&self) {
        self.forgot.store(true, Ordering::SeqCst);
    }

    pub fn has_forgotten(&self) -> bool {
        self.forgot.load(Ordering::SeqCst)
    }
}

impl World {
    pub fn new(compiled: [&'static Compiled; 2]) -> Arc<World> {
        Arc::new(World {
            compiled,
            stores: Mutex::default(),
            things: Mutex::default(),
            due: Mutex::default(),
            is_due: AtomicBool::new(false),
            depth: AtomicUsize::new(0),
            next: AtomicU64::new(0),
            done: Mutex::default(),
            wrong: Mutex::default(),
        })
    }

    /// Creates a store of one of the engines, without due acts.
    pub fn make(self: &Arc<World>, which: usize) -> Result<Store<Data>, String> {
        let compiled = self.compiled[which % self.compiled.len()];
        let site = Site::new(self);
        let mut linker = Linker::new(&compiled.engine);
        host::define(&mut linker, &site).map_err(|error| format!("{error:?}"))?;
        let mut store = Store::new(&compiled.engine, self.data(site, compiled, Arc::new(linker)));
        // Some engines lack these features.
        let _ = store.set_fuel(u64::MAX / 2);
        *lock(&store.data().site.tally.interrupts) = store.interrupt_handle().ok();
        let linker = store.data().linker.clone();
        let instance = linker.instantiate(&mut store, &compiled.module);
        store.data_mut().instance = Some(instance.map_err(|error| format!("{error:?}"))?);
        let limits = Limits::new(&store.data().site);
        match store.data().number % 3 {
            0 => store.limiter(limits),
            1 => store.limiter_async(Decides(limits)),
            _ => {}
        }
        Ok(store)
    }

    /// The data of a new store.
    pub fn data(&self, site: Site, compiled: &'static Compiled, linker: Arc<Linker<Data>>) -> Data {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let dropped = WhenDropped(site.clone(), CallbackSite::DropData);
        Data { site, number, compiled, instance: None, linker, _dropped: dropped }
    }

    pub fn add(&self, store: Store<Data>) {
        lock(&self.stores).push(Some(store));
    }

    /// Uses a store exclusively. Returns `None` if it is already in use.
    pub fn with_store<R>(&self, which: u8, work: impl FnOnce(&mut Store<Data>) -> R) -> Option<R> {
        let which = which as usize % STORES;
        let store = lock(&self.stores).get_mut(which)?.take()?;
        let mut taken = BorrowedStore { world: self, which, store: Some(store) };
        let store = taken.store.as_mut()?;
        Some(work(store))
    }

    /// Swaps two stores, if neither is in use.
    pub fn swap_stores(&self, a: u8, b: u8) {
        let mut stores = lock(&self.stores);
        let (a, b) = (a as usize % STORES, b as usize % STORES);
        if stores.len() == STORES && stores[a].is_some() && stores[b].is_some() {
            stores.swap(a, b);
        }
    }

    /// All stores, at the end.
    pub fn take_stores(&self) -> Vec<Store<Data>> {
        std::mem::take(&mut *lock(&self.stores)).into_iter().flatten().collect()
    }

    /// Keeps a handle, or drops it if there is no room.
    pub fn keep(&self, kept: KeptHandle) {
        let mut things = lock(&self.things);
        let dropped = (things.len() >= HANDLES).then(|| things.swap_remove(0));
        things.push(kept);
        drop(things);
        drop(dropped);
    }

    pub fn take_thing(&self, which: u8) -> Option<KeptHandle> {
        let mut things = lock(&self.things);
        let count = things.len();
        (count > 0).then(|| things.swap_remove(which as usize % count))
    }

    /// Whether continuations are kept, which a snapshot would have to name.
    pub fn holds_stacks(&self) -> bool {
        let is_stack = |kept: &KeptHandle| {
            matches!(kept.handle, Handle::Held(..) | Handle::New(_) | Handle::Stack(_))
        };
        lock(&self.things).iter().any(is_stack)
    }

    pub fn count_things(&self) -> usize {
        lock(&self.things).len()
    }

    pub fn take_things(&self) -> Vec<KeptHandle> {
        std::mem::take(&mut *lock(&self.things))
    }

    /// Makes these acts due, before all others.
    pub fn add_due(&self, due: &Due) {
        let mut all = lock(&self.due);
        all.splice(0..0, due.0.iter().cloned());
        self.is_due.store(!all.is_empty(), Ordering::SeqCst);
    }

    /// Removes all due acts.
    pub fn clear_due(&self) {
        let due = std::mem::take(&mut *lock(&self.due));
        self.is_due.store(false, Ordering::SeqCst);
        drop(due);
    }

    /// The next act for the callback of a site.
    pub fn next_act(&self, place: CallbackSite) -> Option<CallbackAct> {
        // A second panic during a panic would abort the process.
        if !self.is_due.load(Ordering::SeqCst) || std::thread::panicking() {
            return None;
        }
        let mut all = lock(&self.due);
        let is_meant = |due: &DueAct| due.place.is_none_or(|meant| meant == place);
        let index = all.iter().position(is_meant)?;
        match all[index].after {
            0 => {
                lock(&self.done).insert(place);
                Some(all.remove(index).act)
            }
            _ => {
                all[index].after -= 1;
                None
            }
        }
    }

    /// The sites whose callbacks did a act.
    #[cfg(test)]
    pub fn acts(&self) -> HashSet<CallbackSite> {
        lock(&self.done).clone()
    }

    /// Runs `work` unless the nesting is too deep.
    pub fn nested(&self, work: impl FnOnce()) {
        if self.depth.fetch_add(1, Ordering::SeqCst) < DEPTH {
            work();
        }
        self.depth.fetch_sub(1, Ordering::SeqCst);
    }

    /// Records a problem, if it is the first one.
    pub fn note(&self, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            lock(&self.wrong).get_or_insert(what);
        }
    }

    pub fn verdict(&self) -> Result<(), String> {
        match lock(&self.wrong).take() {
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }
}

/// A store in use, which is put back on drop.
struct BorrowedStore<'a> {
    world: &'a World,
    which: usize,
    store: Option<Store<Data>>,
}

impl Drop for BorrowedStore<'_> {
    fn drop(&mut self) {
        let mut stores = lock(&self.world.stores);
        // At the end of a case there is no slot for it.
        if let Some(place) = stores.get_mut(self.which) {
            *place = self.store.take();
        }
    }
}
