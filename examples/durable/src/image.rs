//! Running workflows as bytes.

use crate::guest::Host;
use anyhow::{Context, Result, bail};
use ropewalk::{Caller, Restored, Restoring, Snapshot, SnapshotOptions, Val};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What images cost, added up.
#[derive(Debug, Default)]
pub struct Costs {
    /// How many were taken.
    pub taken: AtomicU64,
    /// How large they were.
    pub bytes: AtomicU64,
    /// How long that took, in nanoseconds.
    pub taking: AtomicU64,
    /// How many were restored.
    pub restored: AtomicU64,
    /// How long that took, in nanoseconds.
    pub restoring: AtomicU64,
}

/// What all images of this process have cost.
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

/// A workflow that has called the host, as it is now.
pub fn take(caller: &mut Caller<'_, Host>) -> Result<Vec<u8>> {
    let begun = Instant::now();
    let image = caller.snapshot(&SnapshotOptions::new())?.as_bytes().to_vec();
    count(&COSTS.taken, 1);
    count(&COSTS.bytes, image.len() as u64);
    count(&COSTS.taking, nanoseconds(begun));
    Ok(image)
}

/// Gives the call that a workflow was written down in its result, and runs it on. Answers with
/// the data of its store, and what it returned or why it stopped.
pub fn go_on(
    restoring: &Restoring<Host>,
    image: Vec<u8>,
    result: Option<i32>,
) -> Result<(Host, Result<i32>)> {
    let begun = Instant::now();
    // SAFETY: images come out of the database, to which only this program writes.
    let snapshot = unsafe { Snapshot::from_bytes(image) }?;
    let Restored { mut store, mut calls, .. } = snapshot.restore_by(restoring, Host::default())?;
    count(&COSTS.restored, 1);
    count(&COSTS.restoring, nanoseconds(begun));
    let call = calls.pop().context("a workflow is written down in a call")?;
    let results: Vec<Val> = result.map(Val::I32).into_iter().collect();
    let returned = call.resume(&mut store, &results).and_then(|values| match values[..] {
        [Val::I32(code)] => Ok(code),
        _ => bail!("a workflow returns one number, and not {values:?}"),
    });
    Ok((store.into_data(), returned))
}
