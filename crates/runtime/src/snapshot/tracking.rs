//! Tracking changes since the last snapshot, so that the next one saves only these.
//!
//! Each section is tracked in one of two ways: by the [dirty pages](crate::os::dirty_pages) of its
//! memory, or, if it is small, by a copy. The next snapshot saves only the changes. It does not
//! collect before, so that objects keep their places.
//!
//! ```text
//!   section     made of                   changes
//!   settings    the engine                compared with the copy
//!   image       the store                 compared with the copy
//!   heap        the space of the heap     pages, or compared
//!   blocks      the table of stacks       pages, or compared
//!   frames      the stacks                those whose blocks are in these pages, or compared
//!   memories    themselves                pages, or compared
//!   tables      their elements            pages, or compared
//! ```
//!
//! A stack keeps its place in the section of frames while it fits. A larger one moves to the end.

use super::format::{BasedOn, Bytes, Identity};
use super::frame_space::FrameSpace;
use super::image::TypeName;
use super::ranges::Ranges;
use super::section::{GRAIN, Section};
use super::symbol::Symbol;
use super::take::{Base, FIRST_MEMORY, HEAP};
use crate::os::dirty_pages::{DirtyPages, Region};
use crate::store::Store;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The largest section that is copied instead of tracked by pages.
pub(super) const COPIED: usize = 64 << 10;

/// The record of the last snapshot.
#[derive(Debug)]
pub(crate) struct Tracking {
    /// The snapshots that the next one can be based on, the newest last.
    bases: Vec<EarlierSnapshot>,
    tracked_by: Vec<TrackedBy>,
    /// New tracked addresses, which are protected when the snapshot is complete.
    unprotected: Vec<(usize, Range<usize>)>,
    /// Whether changes are tracked from now on.
    pub(super) is_enabled: bool,
    /// Whether earlier bases must be forgotten, since a section is tracked in another way now.
    pub(super) forgets_bases: bool,
    /// The largest section that is not tracked by pages.
    smallest: usize,
    /// The numbers of memories and tables.
    counts: [usize; 2],
    collections: u64,
    /// The symbols whose numbers words contain.
    pub(super) symbols: Vec<Symbol>,
    /// The types whose numbers objects contain.
    pub(super) types: Vec<TypeName>,
    /// For each page of the heap, the start of the object that the page begins in.
    pub(super) first_objects: Vec<usize>,
    /// The places of frames.
    pub(super) frame_space: FrameSpace,
    /// Flags of stacks that are not in their blocks, by number.
    pub(super) flags: HashMap<usize, u8>,
    /// The stacks that ran.
    pub(super) running: Vec<usize>,
}

/// A snapshot that the next one can be based on.
#[derive(Debug)]
struct EarlierSnapshot {
    identity: Identity,
    lens: Vec<u64>,
    /// The changes of each section between it and the newest snapshot.
    changes: Vec<Ranges>,
}

/// How the changes of a section are tracked.
#[derive(Debug)]
enum TrackedBy {
    /// They are unknown.
    Nothing,
    Copy(Vec<u8>),
    /// By the dirty pages at these addresses.
    Pages(Range<usize>),
}

impl Tracking {
    pub(super) fn new(store: &Store) -> Tracking {
        let counts = counts(store);
        let count = FIRST_MEMORY + counts.iter().sum::<usize>();
        Tracking {
            bases: Vec::new(),
            tracked_by: (0..count).map(|_| TrackedBy::Nothing).collect(),
            unprotected: Vec::new(),
            is_enabled: Tracking::is_possible(store),
            forgets_bases: false,
            smallest: if store.options.stress.watch_always { 0 } else { COPIED },
            counts,
            collections: store.heap.collections,
            symbols: Vec::new(),
            types: Vec::new(),
            first_objects: Vec::new(),
            frame_space: FrameSpace::default(),
            flags: HashMap::new(),
            running: Vec::new(),
        }
    }

    /// Whether changes of a store can be tracked.
    pub(super) fn is_possible(store: &Store) -> bool {
        store.options.watch_pages && DirtyPages::of_process().is_some()
    }

    /// The number of a base, if all changes since it are known.
    pub(super) fn base(&self, store: &Store, base: Base<'_>) -> Option<usize> {
        let lies_there = self.collections == store.heap.collections
            || self.first_objects.is_empty() && store.object_addresses().is_empty();
        if !lies_there || self.counts != counts(store) || self.frame_space.are_mostly_unused() {
            return None;
        }
        match base {
            Base::Nothing => None,
            Base::Last => self.bases.len().checked_sub(1),
            Base::Snapshot(bytes) => {
                self.bases.iter().position(|base| base.identity == bytes.identity())
            }
        }
    }

    /// A base without its bytes.
    pub(super) fn based_on(&self, base: usize) -> BasedOn<'static> {
        let EarlierSnapshot { identity, lens, .. } = &self.bases[base];
        BasedOn { identity: *identity, lens: lens.clone(), bytes: None }
    }

    /// Takes the dirty pages of a region, as ranges of the section. None if they are not tracked.
    pub(super) fn written(&mut self, section: usize, region: Option<&Region>) -> Option<Ranges> {
        let TrackedBy::Pages(tracked) = &self.tracked_by[section] else { return None };
        let used = region.map_or(0..0, |region| region.used.clone());
        let written = region.and_then(|region| region.written(tracked));
        if written.is_none() {
            self.tracked_by[section] = TrackedBy::Nothing;
        }
        let Some(written) = written else { return Some(Ranges::all(used.len())) };
        let offset = |address: usize| address.clamp(used.start, used.end) - used.start;
        let mut ranges = Ranges::default();
        for Range { start, end } in written {
            ranges.push(offset(start)..offset(end));
        }
        Some(ranges)
    }

    pub(super) fn differences(&self, section: usize, whole: &Section<'_>) -> Ranges {
        let TrackedBy::Copy(copy) = &self.tracked_by[section] else {
            return Ranges::all(whole.len);
        };
        let bytes = whole.bytes();
        let mut ranges = Ranges::default();
        for (number, grain) in bytes.chunks(GRAIN).enumerate() {
            let start = number * GRAIN;
            if copy.get(start..start + grain.len()) != Some(grain) {
                ranges.push(start..start + grain.len());
            }
        }
        ranges
    }

    /// Adds changes since the last snapshot. Returns all changes since a base, if there is one.
    pub(super) fn note(
        &mut self,
        section: usize,
        fresh: &Ranges,
        len: usize,
        base: Option<usize>,
    ) -> Ranges {
        for EarlierSnapshot { changes, .. } in &mut self.bases {
            changes[section] = changes[section].union(fresh);
        }
        base.map_or(Ranges::all(len), |base| self.bases[base].changes[section].below(len))
    }

    /// Starts tracking a section of this length: by the pages of its region, or by a copy.
    pub(super) fn track(
        &mut self,
        section: usize,
        region: Option<&Region>,
        len: usize,
        whole: Option<&Section<'_>>,
    ) {
        if self.is_enabled && !self.track_pages(section, region, len) {
            self.forget(section);
            if let Some(whole) = whole {
                self.keep(section, whole.bytes());
            }
        }
    }

    /// Keeps a copy of a section that is small or always compared.
    pub(super) fn keep<'a>(&mut self, section: usize, whole: impl Into<Cow<'a, [u8]>>) {
        let whole = whole.into();
        if whole.len() <= COPIED || section < HEAP {
            self.tracked_by[section] = TrackedBy::Copy(whole.into_owned());
        }
    }

    pub(super) fn forget(&mut self, section: usize) {
        self.tracked_by[section] = TrackedBy::Nothing;
    }

    /// Tracks the pages of a section's region, if it is large enough. Returns whether it does.
    pub(super) fn track_pages(
        &mut self,
        section: usize,
        region: Option<&Region>,
        len: usize,
    ) -> bool {
        let is_large = self.is_enabled && len > self.smallest;
        let Some(region) = region.filter(|_| is_large) else { return false };
        let is_tracked = self.protect(section, region);
        if is_tracked {
            self.tracked_by[section] = TrackedBy::Pages(region.used.clone());
        }
        is_tracked
    }

    /// Tracks the untracked pages of a region; returns whether that succeeded. New pages are
    /// protected when the snapshot is complete, since reading them may commit memory.
    fn protect(&mut self, section: usize, region: &Region) -> bool {
        let Some(pages) = DirtyPages::of_process() else { return false };
        let mut new = region.used.clone();
        if let TrackedBy::Pages(tracked) = &self.tracked_by[section]
            && tracked.start == new.start
        {
            new.start = tracked.end;
        }
        if !new.is_empty() && pages.watch(&region.map).is_err() {
            return false;
        }
        self.unprotected.push((section, new));
        true
    }

    fn protect_new(&mut self) {
        for (section, new) in std::mem::take(&mut self.unprotected) {
            let pages = DirtyPages::of_process();
            if pages.is_none_or(|pages| pages.take_written(&new).is_err()) {
                self.tracked_by[section] = TrackedBy::Nothing;
                self.forgets_bases = true;
            }
        }
    }

    pub(super) fn is_by_pages(&self, section: usize) -> bool {
        matches!(self.tracked_by[section], TrackedBy::Pages(_))
    }

    /// Makes a complete snapshot the newest one. Its base stays known.
    pub(super) fn finish(&mut self, newest: &Bytes, base: Option<usize>) {
        self.protect_new();
        let base = base.filter(|_| !self.forgets_bases).map(|base| self.bases.swap_remove(base));
        self.forgets_bases = false;
        let newest = EarlierSnapshot {
            identity: newest.identity(),
            lens: newest.lens(),
            changes: vec![Ranges::default(); self.tracked_by.len()],
        };
        self.bases = base.into_iter().chain([newest]).collect();
    }
}

fn counts(store: &Store) -> [usize; 2] {
    [store.objects.memories.len(), store.objects.tables.len()]
}
