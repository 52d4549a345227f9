//! Chains of snapshots: full ones, and deltas to earlier ones.

use crate::seeds::Random;
use anyhow::{Result, ensure};
use ropewalk::{Snapshot, SnapshotOptions};

/// A snapshot as it was taken, and merged with its bases.
#[derive(Clone)]
pub struct ChainedSnapshot {
    taken: Snapshot,
    /// The merged snapshot.
    pub whole: Snapshot,
}

/// What a snapshot is a delta to.
#[derive(Clone)]
pub enum SnapshotBase {
    /// Nothing: it is a full snapshot.
    Whole,
    /// The last snapshot.
    SinceLast,
    /// A snapshot that may be old, or of a store that is not an ancestor of this one.
    Since(ChainedSnapshot),
}

/// The possible bases of the next snapshot.
#[derive(Clone, Default)]
pub struct Chain {
    known: Vec<ChainedSnapshot>,
    /// The last snapshot of the store, or the one from which the store was restored.
    last: Option<ChainedSnapshot>,
}

/// The maximum number of possible bases.
const KNOWN: usize = 5;

impl Chain {
    /// Chooses the base of the next snapshot.
    pub fn base(&self, random: &mut Random) -> SnapshotBase {
        let older = random.below(KNOWN as u64) as usize;
        match (random.below(6), self.known.get(older)) {
            (0, _) => SnapshotBase::Whole,
            (1 | 2, Some(link)) => SnapshotBase::Since(link.clone()),
            _ => SnapshotBase::SinceLast,
        }
    }

    /// Merges a snapshot with its base, and makes it the last one.
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
        ensure!(
            taken.is_based() == base.is_some(),
            "the snapshot is a delta without a base, or full despite one"
        );
        let whole = base.map(|base| taken.on(&base.whole)).transpose()?;
        ensure!(
            whole.as_ref().is_none_or(|whole| !whole.is_based()),
            "the merged snapshot is still a delta"
        );
        let whole = whole.unwrap_or_else(|| taken.clone());
        let link = ChainedSnapshot { taken, whole };
        self.begin(link.clone(), random);
        Ok(link)
    }

    /// Continues with a store that was restored from a snapshot.
    pub fn begin(&mut self, link: ChainedSnapshot, random: &mut Random) {
        match self.known.len() < KNOWN {
            true => self.known.push(link.clone()),
            false => self.known[random.below(KNOWN as u64) as usize] = link.clone(),
        }
        self.last = Some(link);
    }
}

impl SnapshotBase {
    /// Sets the options of a snapshot.
    pub fn apply(&self, options: &mut SnapshotOptions, random: &mut Random) {
        match self {
            SnapshotBase::Whole => {}
            SnapshotBase::SinceLast => _ = options.since_last(),
            // Both are equivalent.
            SnapshotBase::Since(link) if random.below(2) == 0 => _ = options.since(&link.taken),
            SnapshotBase::Since(link) => _ = options.since(&link.whole),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            SnapshotBase::Whole => "whole",
            SnapshotBase::SinceLast => "since the last",
            SnapshotBase::Since(_) => "since another",
        }
    }
}
