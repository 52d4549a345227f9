//! What is kept of the last snapshot, so that one of what has changed since costs what has changed.
//!
//! Each section is watched in one of two ways: the kernel notes which
//! [pages](crate::os::dirty_pages) of what it is made of are written, or, if it is small, there is a
//! copy of it. The next snapshot looks at what was written, and writes only that. It does not
//! collect before: then objects lie where they did.
//!
//! ```text
//!   section     made of                   what has changed
//!   settings    the engine                compared with the copy
//!   image       the store                 compared with the copy
//!   heap        the space of the heap     pages, or compared
//!   blocks      the table of stacks       pages, or compared
//!   frames      the stacks                those whose blocks are in these pages, or compared
//!   memories    themselves                pages, or compared
//!   tables      their elements            pages, or compared
//! ```
//!
//! A stack is written where the last snapshot has it, if there is room; else it goes to the end.

use super::image::TypeName;
use super::places::Places;
use super::ranges::Ranges;
use super::runs::{GRAIN, Section};
use super::sections::{BasedOn, Bytes, Identity};
use super::symbol::Symbol;
use super::take::{Base, FIRST_MEMORY, HEAP};
use crate::os::dirty_pages::{DirtyPages, Region};
use crate::store::Store;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// How large a section is at most that is not watched, but copied.
pub(super) const COPIED: usize = 64 << 10;

/// What is kept of the last snapshot.
#[derive(Debug)]
pub(crate) struct Since {
    /// The snapshots that the next one can be based on, the newest last.
    bases: Vec<KnownBase>,
    watches: Vec<Watch>,
    /// What is to be protected, of sections that are watched.
    unprotected: Vec<(usize, Range<usize>)>,
    /// Whether only the newest is known from now on.
    begins_anew: bool,
    /// Sections that are larger are watched, if they can be.
    smallest: usize,
    /// How many memories and tables there were.
    counts: [usize; 2],
    collections: u64,
    /// What words name by number.
    pub(super) symbols: Vec<Symbol>,
    /// The types that objects name by number.
    pub(super) types: Vec<TypeName>,
    /// For each page of the heap, where the object begins that its first byte belongs to.
    pub(super) first_objects: Vec<usize>,
    /// Where stacks lie among the frames.
    pub(super) places: Places,
    /// What is true of stacks, but does not stand in their blocks, by their numbers.
    pub(super) beside: HashMap<usize, u8>,
    /// The stacks that ran.
    pub(super) running: Vec<usize>,
}

/// A snapshot that the next one can be based on.
#[derive(Debug)]
struct KnownBase {
    identity: Identity,
    /// How long its sections are.
    lens: Vec<u64>,
    /// What of each section has changed between it and the newest.
    changes: Vec<Ranges>,
}

/// How a section is known to have changed.
#[derive(Debug)]
enum Watch {
    /// Not at all: any of it may have.
    No,
    /// By what it was.
    Copy(Vec<u8>),
    /// By the pages at these addresses.
    Pages(Range<usize>),
}

impl Since {
    /// Nothing is known yet.
    pub(super) fn new(store: &Store) -> Since {
        let counts = counts(store);
        let count = FIRST_MEMORY + counts.iter().sum::<usize>();
        Since {
            bases: Vec::new(),
            watches: (0..count).map(|_| Watch::No).collect(),
            unprotected: Vec::new(),
            begins_anew: false,
            smallest: if store.options.stress.watch_always { 0 } else { COPIED },
            counts,
            collections: store.heap.collections,
            symbols: Vec::new(),
            types: Vec::new(),
            first_objects: Vec::new(),
            places: Places::default(),
            beside: HashMap::new(),
            running: Vec::new(),
        }
    }

    /// Which of the bases is meant, if what has changed since then is known.
    pub(super) fn base(&self, store: &Store, base: Base<'_>) -> Option<usize> {
        let lies_there = self.collections == store.heap.collections
            || self.first_objects.is_empty() && store.objects().is_empty();
        if !lies_there || self.counts != counts(store) || self.places.are_mostly_unused() {
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

    /// One of the bases, whose bytes are not at hand.
    pub(super) fn based_on(&self, base: usize) -> BasedOn<'static> {
        let KnownBase { identity, lens, .. } = &self.bases[base];
        BasedOn { identity: *identity, lens: lens.clone(), bytes: None }
    }

    /// What of a region was written since the last snapshot, as far as the kernel says it. From
    /// now on the next one counts.
    pub(super) fn written(&mut self, section: usize, region: Option<&Region>) -> Option<Ranges> {
        let Watch::Pages(watched) = &self.watches[section] else { return None };
        let used = region.map_or(0..0, |region| region.used.clone());
        let written = region.and_then(|region| region.written(watched));
        if written.is_none() {
            self.watches[section] = Watch::No;
        }
        let Some(written) = written else { return Some(Ranges::all(used.len())) };
        let offset = |address: usize| address.clamp(used.start, used.end) - used.start;
        let mut ranges = Ranges::default();
        for Range { start, end } in written {
            ranges.push(offset(start)..offset(end));
        }
        Some(ranges)
    }

    /// What of a section, all of which is given, differs from its copy.
    pub(super) fn differences(&self, section: usize, whole: &Section<'_>) -> Ranges {
        let Watch::Copy(copy) = &self.watches[section] else { return Ranges::all(whole.len) };
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

    /// Notes what of a section has changed since the last snapshot. Returns what has since a base,
    /// if one is given, and else all.
    pub(super) fn note(
        &mut self,
        section: usize,
        fresh: &Ranges,
        len: usize,
        base: Option<usize>,
    ) -> Ranges {
        for KnownBase { changes, .. } in &mut self.bases {
            changes[section] = changes[section].union(fresh);
        }
        base.map_or(Ranges::all(len), |base| self.bases[base].changes[section].below(len))
    }

    /// Watches a section from now on, of which this many bytes were written. Its region is, if it
    /// can be; if it is small, a copy is kept.
    pub(super) fn watch(
        &mut self,
        section: usize,
        region: Option<&Region>,
        len: usize,
        whole: Option<&Section<'_>>,
    ) {
        if !self.watch_pages(section, region, len) {
            self.forget(section);
            if let Some(whole) = whole {
                self.keep(section, whole.bytes());
            }
        }
    }

    /// Keeps a copy of a section, if it is small, or one of the first: of these everything is
    /// looked at anyway.
    pub(super) fn keep<'a>(&mut self, section: usize, whole: impl Into<Cow<'a, [u8]>>) {
        let whole = whole.into();
        if whole.len() <= COPIED || section < HEAP {
            self.watches[section] = Watch::Copy(whole.into_owned());
        }
    }

    /// Does not watch a section.
    pub(super) fn forget(&mut self, section: usize) {
        self.watches[section] = Watch::No;
    }

    /// Has the kernel note what is written to the region of a section, if so many bytes are worth
    /// it. Returns whether it does.
    pub(super) fn watch_pages(
        &mut self,
        section: usize,
        region: Option<&Region>,
        len: usize,
    ) -> bool {
        let Some(region) = region.filter(|_| len > self.smallest) else { return false };
        let is_watched = self.protect(section, region);
        if is_watched {
            self.watches[section] = Watch::Pages(region.used.clone());
        }
        is_watched
    }

    /// Has the kernel watch a region, as far as it does not yet. Returns whether it does. What
    /// is new is protected when the snapshot has been written, since whoever reads it may get
    /// pages that were not there.
    fn protect(&mut self, section: usize, region: &Region) -> bool {
        let Some(pages) = DirtyPages::of_process() else { return false };
        let mut new = region.used.clone();
        if let Watch::Pages(watched) = &self.watches[section]
            && watched.start == new.start
        {
            new.start = watched.end;
        }
        if !new.is_empty() && pages.watch(&region.map).is_err() {
            return false;
        }
        self.unprotected.push((section, new));
        true
    }

    /// Has the kernel protect what is watched and new.
    fn protect_new(&mut self) {
        for (section, new) in std::mem::take(&mut self.unprotected) {
            let pages = DirtyPages::of_process();
            if pages.is_none_or(|pages| pages.take_written(&new).is_err()) {
                self.watches[section] = Watch::No;
                self.begins_anew = true;
            }
        }
    }

    /// Whether what a section has written is told by pages.
    pub(super) fn is_by_pages(&self, section: usize) -> bool {
        matches!(self.watches[section], Watch::Pages(_))
    }

    /// Lets only the newest snapshot be a base: sections are watched in another way now.
    pub(super) fn begin_anew(&mut self) {
        self.begins_anew = true;
    }

    /// Makes a snapshot, which has been written, the newest. The one that it is based on stays
    /// known.
    pub(super) fn finish(&mut self, newest: &Bytes, base: Option<usize>) {
        self.protect_new();
        let base = base.filter(|_| !self.begins_anew).map(|base| self.bases.swap_remove(base));
        self.begins_anew = false;
        let newest = KnownBase {
            identity: newest.identity(),
            lens: newest.lens(),
            changes: vec![Ranges::default(); self.watches.len()],
        };
        self.bases = base.into_iter().chain([newest]).collect();
    }
}

fn counts(store: &Store) -> [usize; 2] {
    [store.objects.memories.len(), store.objects.tables.len()]
}
