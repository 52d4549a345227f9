//! The snapshots of a store: whole ones, and such that have what has changed since another.

use crate::seeds::Random;
use anyhow::{Result, ensure};
use ropewalk::{Snapshot, SnapshotOptions};

/// A snapshot, as it was taken, and with what it takes from others.
#[derive(Clone)]
pub struct Link {
    taken: Snapshot,
    /// All of it.
    pub whole: Snapshot,
}

/// What a snapshot is to have.
#[derive(Clone)]
pub enum Way {
    /// All.
    Whole,
    /// What has changed since the last one.
    SinceLast,
    /// What has changed since one that may be much older, or of a store that this one does not
    /// come from.
    Since(Link),
}

/// The snapshots that the next one can be based on.
#[derive(Clone, Default)]
pub struct Chain {
    /// Some, in no particular order.
    known: Vec<Link>,
    /// The one that was taken last of the store, or that the store was restored from.
    last: Option<Link>,
}

/// How many snapshots are known.
const KNOWN: usize = 5;

impl Chain {
    /// What the next one is to have.
    pub fn way(&self, random: &mut Random) -> Way {
        let older = random.below(KNOWN as u64) as usize;
        match (random.below(6), self.known.get(older)) {
            (0, _) => Way::Whole,
            (1 | 2, Some(link)) => Way::Since(link.clone()),
            _ => Way::SinceLast,
        }
    }

    /// Makes a snapshot the last one, and completes it.
    pub fn add(&mut self, taken: Snapshot, way: &Way, random: &mut Random) -> Result<Link> {
        let base = match way {
            Way::Whole => None,
            Way::SinceLast => self.last.as_ref().filter(|_| taken.is_based()),
            Way::Since(link) => Some(link),
        };
        ensure!(taken.is_based() == base.is_some(), "it has what has changed since nothing");
        let whole = base.map(|base| taken.on(&base.whole)).transpose()?;
        ensure!(whole.as_ref().is_none_or(|whole| !whole.is_based()), "it is not whole");
        let whole = whole.unwrap_or_else(|| taken.clone());
        let link = Link { taken, whole };
        self.begin(link.clone(), random);
        Ok(link)
    }

    /// Goes on with a store that was restored from a snapshot.
    pub fn begin(&mut self, link: Link, random: &mut Random) {
        match self.known.len() < KNOWN {
            true => self.known.push(link.clone()),
            false => self.known[random.below(KNOWN as u64) as usize] = link.clone(),
        }
        self.last = Some(link);
    }
}

impl Way {
    /// Says so.
    pub fn apply(&self, options: &mut SnapshotOptions, random: &mut Random) {
        match self {
            Way::Whole => {}
            Way::SinceLast => _ = options.since_last(),
            // Both mean the same.
            Way::Since(link) if random.below(2) == 0 => _ = options.since(&link.taken),
            Way::Since(link) => _ = options.since(&link.whole),
        }
    }

    /// What it is called in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Whole => "whole",
            Way::SinceLast => "since the last",
            Way::Since(_) => "since another",
        }
    }
}
