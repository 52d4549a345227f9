//! Memories that begin with much data.
//!
//! From the second instance of a module on, its data is not copied: it lies in a file
//! without a name, which each instance maps, and of which it gets copies of the pages that
//! it writes. Then making an instance takes the same time however much data there is.
//!
//! ```text
//!   file           | data segments, as they lie in the memory |
//!                  ^ mapped privately
//!   memory   | 0 0 | data                                     | 0 0 0 ...
//! ```
//!
//! That is done only if no active data segment of the module can trap: what would be copied
//! before a trap, and what not, is as the specification says. And only for memories that
//! never move.

use crate::code::LoadedModule;
use crate::map::PAGE;
use ropewalk_abi::MemoryType;
use ropewalk_abi::module::{ConstOp, DataSegment, SegmentMode};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many bytes of data a memory begins with at least for an image of them to pay.
const WORTHWHILE: usize = 64 << 10;
/// How many bytes an image may have for each byte of data.
const DENSE: usize = 4;

/// The images of a module's memories.
#[derive(Debug, Default)]
pub struct MemoryImages {
    /// Whether the module was instantiated before. One that is used once needs no image.
    is_used: AtomicBool,
    images: OnceLock<Vec<MemoryImage>>,
}

/// What a memory begins with.
#[derive(Debug)]
pub(crate) struct MemoryImage {
    /// The index of the memory in the module.
    pub memory: u32,
    /// Where it lies in the memory, in whole pages.
    pub place: Range<usize>,
    pub file: File,
}

impl LoadedModule {
    /// The images of memories, for another instance.
    pub(crate) fn memory_images(&self) -> &[MemoryImage] {
        if !self.images.is_used.swap(true, Ordering::Relaxed) {
            return &[];
        }
        self.images.images.get_or_init(|| self.make_images().unwrap_or_default())
    }

    /// Makes the images that pay. None if a segment may trap.
    fn make_images(&self) -> Option<Vec<MemoryImage>> {
        let segments = self.info.data.iter().filter_map(|segment| self.place_of(segment));
        let segments = segments.collect::<Option<Vec<_>>>()?;
        let memories = self.info.imported_memories..self.info.memories.len() as u32;
        Some(memories.filter_map(|memory| self.make_image(memory, &segments)).collect())
    }

    /// Where an active segment is copied to; nothing inside if that may trap.
    fn place_of<'a>(&self, segment: &'a DataSegment) -> Option<Option<Placed<'a>>> {
        let SegmentMode::Active { target, offset } = &segment.mode else { return None };
        let start = match offset.0[..] {
            [ConstOp::I32(offset)] => u64::from(offset as u32),
            [ConstOp::I64(offset)] => offset as u64,
            _ => return Some(None),
        };
        let ty = self.info.memories[*target as usize];
        let is_defined = *target >= self.info.imported_memories;
        let end = start.checked_add(segment.bytes.len() as u64);
        let len = ty.minimum.saturating_mul(MemoryType::PAGE_SIZE);
        let fits = is_defined && end.is_some_and(|end| end <= len);
        Some(fits.then_some(Placed { memory: *target, start: start as usize, segment }))
    }

    /// The image of a memory, if it pays and the kernel has one.
    fn make_image(&self, memory: u32, all: &[Placed<'_>]) -> Option<MemoryImage> {
        let segments = || all.iter().filter(|placed| placed.memory == memory);
        let bytes: usize = segments().map(|placed| placed.segment.bytes.len()).sum();
        let start = segments().map(|placed| placed.start).min()? / PAGE * PAGE;
        let end = segments().map(Placed::end).max()?.next_multiple_of(PAGE);
        if bytes < WORTHWHILE || end - start > bytes * DENSE {
            return None;
        }
        let file = unnamed_file().ok()?;
        file.set_len((end - start) as u64).ok()?;
        for placed in segments() {
            let data = &self.code.tables().data[placed.segment.bytes.clone()];
            file.write_all_at(data, (placed.start - start) as u64).ok()?;
        }
        Some(MemoryImage { memory, place: start..end, file })
    }
}

/// An active segment whose place is known.
struct Placed<'a> {
    memory: u32,
    start: usize,
    segment: &'a DataSegment,
}

impl Placed<'_> {
    fn end(&self) -> usize {
        self.start + self.segment.bytes.len()
    }
}

/// A file in memory that nobody else can open.
fn unnamed_file() -> io::Result<File> {
    // SAFETY: the name ends with a zero.
    let descriptor = unsafe { libc::memfd_create(c"ropewalk".as_ptr(), libc::MFD_CLOEXEC) };
    match descriptor {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was just made, and is nobody else's.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}
