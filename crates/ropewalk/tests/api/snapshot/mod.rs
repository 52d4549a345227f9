//! Snapshots: stores that are saved and restored with all their contents, in every design.

mod calls;
mod incremental;
mod leaving;
mod made_up;
mod named_continuations;
mod named_handles;
mod objects;
mod pending;
mod refusals;
mod resumed;
mod stacks;

use crate::common::*;
use ropewalk::*;

/// An engine that compiles for snapshots.
fn engine() -> Engine {
    Engine::new(Config::new().snapshots(true)).unwrap()
}

/// The snapshot of a store with a single instance, named `main`.
fn snapshot<T>(store: &mut Store<T>, instance: Instance) -> Snapshot {
    store.snapshot(SnapshotOptions::new().name_instance("main", instance)).unwrap()
}

/// A snapshot that was written to bytes and read again.
fn through_bytes(snapshot: &Snapshot) -> Snapshot {
    // SAFETY: the bytes are a snapshot.
    unsafe { Snapshot::from_bytes(snapshot.as_bytes().to_vec()) }.unwrap()
}

/// Saves and restores a store with a single instance.
fn restored(module: &Module, store: &mut Store<()>, instance: Instance) -> (Store<()>, Instance) {
    let snapshot = through_bytes(&snapshot(store, instance));
    let linker = Linker::new(module.engine());
    let restored = snapshot.restore(&linker, std::slice::from_ref(module), ()).unwrap();
    let instance = restored.instance("main").unwrap();
    (restored.store, instance)
}

/// Calls a function without parameters.
fn call<R: WasmResults>(store: &mut Store<()>, instance: Instance, name: &str) -> R {
    instance.get_typed_func::<(), R>(&mut *store, name).unwrap().call(&mut *store, ()).unwrap()
}
