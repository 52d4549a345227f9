//! The snapshots of a store: whole ones, and such that have what has changed since another.

use crate::seeds::Random;
use anyhow::{Result, ensure};
use ropewalk::{Snapshot, SnapshotOptions};

/// A snapshot, as it was taken, and with what it takes from others.
#[derive(Clone)]
pub struct ChainedSnapshot {
    taken: Snapshot,
    /// All of it.
    pub whole: Snapshot,
}

/// What a snapshot is to have.
#[derive(Clone)]
pub enum SnapshotBase {
    /// All.
    Whole,
    /// What has changed since the last one.
    SinceLast,
    /// What has changed since one that may be much older, or of a store that this one does not
    /// come from.
    Since(ChainedSnapshot),
}

/// The snapshots that the next one can be based on.
#[derive(Clone, Default)]
pub struct Chain {
    /// Some, in no particular order.
    known: Vec<ChainedSnapshot>,
    /// The one that was taken last of the store, or that the store was restored from.
    last: Option<ChainedSnapshot>,
}

/// How many snapshots are known.
const KNOWN: usize = 5;

impl Chain {
    /// What the next one is to have.
    pub fn base(&self, random: &mut Random) -> SnapshotBase {
        let older = random.below(KNOWN as u64) as usize;
        match (random.below(6), self.known.get(older)) {
            (0, _) => SnapshotBase::Whole,
            (1 | 2, Some(link)) => SnapshotBase::Since(link.clone()),
            _ => SnapshotBase::SinceLast,
        }
    }

    /// Makes a snapshot the last one, and completes it.
    pub fn add(
        &mut self,
        taken: Snapshot,
        base: &SnapshotBase,
        random: &mut Random,
    ) -> Result<ChainedSnapshot> {
        let base = match base {
            SnapshotBase::Whole => None,
            SnapshotBase::SinceLast => self.last.as_ref().filter(|_| taken.is_based()),
            SnapshotBase::Since(link) => Some(link),
        };
        ensure!(taken.is_based() == base.is_some(), "it has what has changed since nothing");
        let whole = base.map(|base| taken.on(&base.whole)).transpose()?;
        ensure!(whole.as_ref().is_none_or(|whole| !whole.is_based()), "it is not whole");
        let whole = whole.unwrap_or_else(|| taken.clone());
        let link = ChainedSnapshot { taken, whole };
        self.begin(link.clone(), random);
        Ok(link)
    }

    /// Goes on with a store that was restored from a snapshot.
    pub fn begin(&mut self, link: ChainedSnapshot, random: &mut Random) {
        match self.known.len() < KNOWN {
            true => self.known.push(link.clone()),
            false => self.known[random.below(KNOWN as u64) as usize] = link.clone(),
        }
        self.last = Some(link);
    }
}

impl SnapshotBase {
    /// Says so.
    pub fn apply(&self, options: &mut SnapshotOptions, random: &mut Random) {
        match self {
            SnapshotBase::Whole => {}
            SnapshotBase::SinceLast => _ = options.since_last(),
            // Both mean the same.
            SnapshotBase::Since(link) if random.below(2) == 0 => _ = options.since(&link.taken),
            SnapshotBase::Since(link) => _ = options.since(&link.whole),
        }
    }

    /// What it is called in reports.
    pub fn name(&self) -> &'static str {
        match self {
            SnapshotBase::Whole => "whole",
            SnapshotBase::SinceLast => "since the last",
            SnapshotBase::Since(_) => "since another",
        }
    }
}
