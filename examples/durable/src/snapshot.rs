//! Takes snapshots of workflows and continues them.

use crate::guest::Host;
use anyhow::{Context, Result, bail};
use ropewalk::{Caller, Restored, Restoring, Snapshot, SnapshotOptions, Val};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The total costs of snapshots.
#[derive(Debug, Default)]
pub struct Costs {
    /// The number of snapshots taken.
    pub taken: AtomicU64,
    /// Their total size.
    pub bytes: AtomicU64,
    /// The time to take them, in nanoseconds.
    pub taking: AtomicU64,
    /// The number of snapshots restored.
    pub restored: AtomicU64,
    /// The time to restore them, in nanoseconds.
    pub restoring: AtomicU64,
}

/// The costs of this process.
pub static COSTS: Costs = Costs {
    taken: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
    taking: AtomicU64::new(0),
    restored: AtomicU64::new(0),
    restoring: AtomicU64::new(0),
};

fn count(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)
}

/// Takes a snapshot in a call of the host.
pub fn take(caller: &mut Caller<'_, Host>) -> Result<Vec<u8>> {
    let begun = Instant::now();
    let image = caller.snapshot(&SnapshotOptions::new())?.as_bytes().to_vec();
    count(&COSTS.taken, 1);
    count(&COSTS.bytes, image.len() as u64);
    count(&COSTS.taking, nanoseconds(begun));
    Ok(image)
}

/// Restores a workflow, and continues it with the result of its call. Returns the data of its
/// store, and its result or the reason that it stopped.
pub fn resume(
    restoring: &Restoring<Host>,
    image: Vec<u8>,
    result: Option<i32>,
) -> Result<(Host, Result<i32>)> {
    let begun = Instant::now();
    // SAFETY: the bytes come from the database, which only this program writes.
    let snapshot = unsafe { Snapshot::from_bytes(image) }?;
    let Restored { mut store, mut calls, .. } = snapshot.restore_by(restoring, Host::default())?;
    count(&COSTS.restored, 1);
    count(&COSTS.restoring, nanoseconds(begun));
    let call = calls.pop().context("the snapshot does not contain a call")?;
    let results: Vec<Val> = result.map(Val::I32).into_iter().collect();
    let returned = call.resume(&mut store, &results).and_then(|values| match values[..] {
        [Val::I32(code)] => Ok(code),
        _ => bail!("expected a workflow that returns an i32, found {values:?}"),
    });
    Ok((store.into_data(), returned))
}
