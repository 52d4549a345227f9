//! The snapshot state of a store: the hook, and the record of the last snapshot.
//!
//! The record says which pages, objects and stacks have not changed since the last snapshot. It is
//! there only if snapshots are incremental. Taking another one takes it out first, so if that fails,
//! the next snapshot is whole.

use super::Store;
use super::slot::Slot;
use crate::embedder::Foreign;
use ropewalk_abi::PausedRegisters;

/// Takes a snapshot of the store at a safepoint. An error ends the running call.
pub type SnapshotHook =
    Foreign<Box<dyn FnMut(&mut Store, &PausedRegisters) -> anyhow::Result<()> + Send + Sync>>;

/// The snapshot state of a store.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// Called at a safepoint after a request for a snapshot.
    pub hook: Option<SnapshotHook>,
    /// The record of the last snapshot, for the next incremental one.
    pub last: Slot,
}

impl Store {
    /// Sets the hook that takes snapshots at safepoints.
    pub fn set_snapshot_hook(&mut self, hook: Option<SnapshotHook>) {
        self.snapshots.hook = hook;
    }
}
