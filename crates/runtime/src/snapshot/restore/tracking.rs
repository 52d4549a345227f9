//! Tracks changes of a restored store, so that the next snapshot can be a delta to the restored one.

use super::super::blocks::{self, RECORD};
use super::super::error::SnapshotError;
use super::super::format::Bytes;
use super::super::frame_space::FrameSpace;
use super::super::take::{BLOCKS, FIRST_MEMORY, FRAMES, HEAP, IMAGE, SETTINGS};
use super::super::tracking::Tracking;
use super::Reader;
use crate::os::dirty_pages::Region;

impl Reader<'_> {
    /// Makes the restored snapshot the last one of the store.
    pub(super) fn track(&mut self, bytes: &Bytes, records: &[u8], frames: &[u8]) {
        if !Tracking::is_possible(self.store) {
            return;
        }
        // If tracking fails, the next snapshot is complete.
        let tracking = self.start_tracking(bytes, records, frames).ok().map(Box::new);
        self.store.snapshots.last.set(tracking);
    }

    fn start_tracking(
        &mut self,
        bytes: &Bytes,
        records: &[u8],
        frames: &[u8],
    ) -> Result<Tracking, SnapshotError> {
        let mut tracking = Tracking::new(self.store);
        tracking.symbols = std::mem::take(&mut self.image.symbols);
        tracking.types = std::mem::take(&mut self.image.types);
        tracking.first_objects = std::mem::take(&mut self.first_objects);
        tracking.frame_space = FrameSpace::new(frames.len());
        for (number, record) in (1..).zip(records.chunks_exact(RECORD)) {
            if let Some((start, len)) = blocks::place(record, frames)? {
                tracking.frame_space.restore(number, start, len);
            }
            // State that is not in these records may have changed.
            if !blocks::stands_alone(record) {
                tracking.running.push(number);
            }
        }
        tracking.track_pages(
            BLOCKS,
            self.store.stacks.region().as_ref(),
            records.len() + frames.len(),
        );
        if !tracking.is_by_pages(BLOCKS) {
            tracking.keep(BLOCKS, records.to_vec());
            tracking.keep(FRAMES, frames.to_vec());
        }
        for (number, region) in self.regions() {
            if !tracking.track_pages(number, region.as_ref(), bytes.len(number) as usize)
                && let Some(section) = bytes.small_section(number)?
            {
                tracking.keep(number, section);
            }
        }
        tracking.finish(bytes, None);
        Ok(tracking)
    }

    /// The sections other than those of stacks, and the memory that they are made of.
    fn regions(&self) -> Vec<(usize, Option<Region>)> {
        let memories = self.store.objects.memories().iter().map(|memory| {
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
