//! Snapshots of a store: who takes them, and the last one.

use super::Store;
use super::slot::Slot;
use crate::embedder::Foreign;
use ropewalk_abi::PausedRegisters;

/// Takes a snapshot of the store at a safepoint. If it fails, what runs ends with its error.
pub type SnapshotHook =
    Foreign<Box<dyn FnMut(&mut Store, &PausedRegisters) -> anyhow::Result<()> + Send + Sync>>;

/// The state of snapshots.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// Takes a snapshot at a safepoint when one was asked for.
    pub hook: Option<SnapshotHook>,
    /// What is known of the last one.
    pub last: Slot,
}

impl Store {
    /// Sets what takes a snapshot at a safepoint.
    pub fn set_snapshot_hook(&mut self, hook: Option<SnapshotHook>) {
        self.snapshots.hook = hook;
    }
}
