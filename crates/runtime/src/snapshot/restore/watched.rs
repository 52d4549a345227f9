//! Tracking the changes of a restored store, so that a snapshot can be based on the restored one.

use super::super::blocks::{self, RECORD};
use super::super::error::SnapshotError;
use super::super::places::Places;
use super::super::sections::Bytes;
use super::super::since::Since;
use super::super::take::{BLOCKS, FIRST_MEMORY, FRAMES, HEAP, IMAGE, SETTINGS};
use super::Reader;
use crate::os::dirty_pages::DirtyPages;
use crate::os::dirty_pages::Region;

impl Reader<'_> {
    /// Makes the restored snapshot the last one of the store.
    pub(super) fn watch(&mut self, bytes: &Bytes, records: &[u8], frames: &[u8]) {
        if !self.store.options.watch_pages || DirtyPages::of_process().is_none() {
            return;
        }
        // If tracking fails, the next snapshot is complete.
        let since = self.since(bytes, records, frames).ok().map(Box::new);
        self.store.snapshots.last.set(since);
    }

    fn since(
        &mut self,
        bytes: &Bytes,
        records: &[u8],
        frames: &[u8],
    ) -> Result<Since, SnapshotError> {
        let mut since = Since::new(self.store);
        since.symbols = std::mem::take(&mut self.image.symbols);
        since.types = std::mem::take(&mut self.image.types);
        since.first_objects = std::mem::take(&mut self.first_objects);
        since.places = Places::new(frames.len());
        for (number, record) in (1..).zip(records.chunks_exact(RECORD)) {
            if let Some((start, len)) = blocks::place(record, frames)? {
                since.places.restore(number, start, len);
            }
            // The state beside these blocks may have changed.
            if !blocks::stands_alone(record) {
                since.running.push(number);
            }
        }
        since.watch_pages(
            BLOCKS,
            self.store.stacks.region().as_ref(),
            records.len() + frames.len(),
        );
        if !since.is_by_pages(BLOCKS) {
            since.keep(BLOCKS, records.to_vec());
            since.keep(FRAMES, frames.to_vec());
        }
        for (number, region) in self.regions() {
            if !since.watch_pages(number, region.as_ref(), bytes.len(number) as usize)
                && let Some(section) = bytes.small_section(number)?
            {
                since.keep(number, section);
            }
        }
        since.finish(bytes, None);
        Ok(since)
    }

    /// The sections other than those of stacks, and the memory that they are made of.
    fn regions(&self) -> Vec<(usize, Option<Region>)> {
        let memories = self.store.memories().iter().map(|memory| {
            let data = memory.data();
            Some(Region::of(data.as_ptr_range(), data))
        });
        let tables = self.store.objects.tables.iter();
        let tables = tables.map(|table| table.map().map(|map| Region::of(map, table.elements())));
        let first =
            [(SETTINGS, None), (IMAGE, None), (HEAP, self.store.heap.region(self.store.context()))];
        first.into_iter().chain((FIRST_MEMORY..).zip(memories.chain(tables))).collect()
    }
}
