//! Memory images: initial data that is mapped instead of copied.
//!
//! The data lies in a file that each instance maps copy-on-write, which takes constant time.
//!
//! ```text
//!   file     ... | data segments, as they lie in the memory | ...
//!                ^ mapped privately
//!   memory   0 0 | data                                     | 0 0 0 ...
//! ```
//!
//! A compiled module in a file already contains its data in this form. A module that was compiled
//! in this process makes an anonymous file at its second instantiation.
//!
//! An image is used only if no active data segment of the module can trap, since the specification
//! says which segments are copied before a trap, and only for memories that never move.

use crate::code::LoadedModule;
use crate::os::mapping::PAGE;
use ropewalk_abi::MemoryType;
use ropewalk_abi::module::{ConstOp, DataImage, DataSegment, SegmentMode};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The least data for which an image is worthwhile.
const WORTHWHILE: usize = 64 << 10;
/// The most bytes of an image for each byte of data.
const DENSE: usize = 4;

/// The images of a module's memories.
#[derive(Debug, Default)]
pub struct MemoryImages {
    /// Whether the module was instantiated before. A single instance needs no image.
    is_used: AtomicBool,
    images: OnceLock<Vec<MemoryImage>>,
}

/// The initial contents of a memory.
#[derive(Debug)]
pub(crate) struct MemoryImage {
    /// The index of the memory in the module.
    pub memory: u32,
    /// Its place in the memory, in whole pages.
    pub place: Range<usize>,
    /// Its offset in the file.
    pub offset: u64,
    pub file: Arc<File>,
}

impl MemoryImages {
    /// Images in a file, whose data begins at `start`.
    pub(crate) fn in_file(file: File, start: u64, images: &[DataImage]) -> MemoryImages {
        let file = Arc::new(file);
        let image = |image: &DataImage| MemoryImage {
            memory: image.memory,
            place: image.place.clone(),
            offset: start + image.at as u64,
            file: file.clone(),
        };
        let images: Vec<_> = images.iter().map(image).collect();
        MemoryImages { is_used: AtomicBool::new(true), images: images.into() }
    }
}

/// The data of a module as it lies in a file.
#[derive(Debug, Default)]
pub struct DataInFile {
    /// First the images of memories, in whole pages, then the other data.
    pub bytes: Vec<u8>,
    /// The place of each segment.
    pub segments: Vec<Range<usize>>,
    /// The places of the images.
    pub images: Vec<DataImage>,
}

impl LoadedModule {
    /// The images of memories, for another instance.
    pub(crate) fn memory_images(&self) -> &[MemoryImage] {
        if !self.images.is_used.swap(true, Ordering::Relaxed) {
            return &[];
        }
        self.images.images.get_or_init(|| self.make_images().unwrap_or_default())
    }

    fn make_images(&self) -> Option<Vec<MemoryImage>> {
        let segments = self.placed_segments()?;
        let places = self.places_of_images(&segments);
        let images = places.into_iter().filter_map(|(memory, place)| {
            let file = unnamed_file().ok()?;
            file.set_len(place.len() as u64).ok()?;
            for placed in segments.iter().filter(|placed| placed.memory == memory) {
                let data = &self.code.tables().data[placed.segment.bytes.clone()];
                file.write_all_at(data, (placed.start - place.start) as u64).ok()?;
            }
            Some(MemoryImage { memory, place, offset: 0, file: Arc::new(file) })
        });
        Some(images.collect())
    }

    /// The data, arranged so that memory images can be mapped. Overlapping segments contain the
    /// bytes of the last one, as the memory will.
    pub fn data_in_file(&self) -> DataInFile {
        let segments = self.placed_segments().unwrap_or_default();
        let mut data = DataInFile::default();
        for (memory, place) in self.places_of_images(&segments) {
            let at = data.bytes.len();
            data.bytes.resize(at + place.len(), 0);
            data.images.push(DataImage { memory, place, at });
        }
        for segment in &self.info.data {
            let bytes = &self.code.tables().data[segment.bytes.clone()];
            let start = match data.place_in_image(self.place_of(segment).flatten()) {
                Some(start) => start,
                None => {
                    data.bytes.resize(data.bytes.len() + bytes.len(), 0);
                    data.bytes.len() - bytes.len()
                }
            };
            let part = start..start + bytes.len();
            data.bytes[part.clone()].copy_from_slice(bytes);
            data.segments.push(part);
        }
        data
    }

    /// The active segments. None if one may trap.
    fn placed_segments(&self) -> Option<Vec<Placed<'_>>> {
        self.info.data.iter().filter_map(|segment| self.place_of(segment)).collect()
    }

    /// The memories for which an image is worthwhile, and its place in each.
    fn places_of_images(&self, segments: &[Placed<'_>]) -> Vec<(u32, Range<usize>)> {
        let memories = self.info.imported_memories..self.info.memories.len() as u32;
        let place = |memory| Some((memory, place_of_image(memory, segments)?));
        memories.filter_map(place).collect()
    }

    /// The destination of an active segment; `Some(None)` if it may trap.
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
}

impl DataInFile {
    /// The place of a segment in the image of its memory, if there is one.
    fn place_in_image(&self, placed: Option<Placed<'_>>) -> Option<usize> {
        let placed = placed?;
        let image = self.images.iter().find(|image| image.memory == placed.memory)?;
        Some(image.at + placed.start - image.place.start)
    }
}

/// The place of a memory's image, if it is worthwhile.
fn place_of_image(memory: u32, all: &[Placed<'_>]) -> Option<Range<usize>> {
    let segments = || all.iter().filter(|placed| placed.memory == memory);
    let bytes: usize = segments().map(|placed| placed.segment.bytes.len()).sum();
    let start = segments().map(|placed| placed.start).min()? / PAGE * PAGE;
    let end = segments().map(Placed::end).max()?.next_multiple_of(PAGE);
    (bytes >= WORTHWHILE && end - start <= bytes * DENSE).then_some(start..end)
}

/// An active segment whose destination is known.
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

/// An anonymous file in memory.
fn unnamed_file() -> io::Result<File> {
    // SAFETY: the name ends with a zero.
    let descriptor = unsafe { libc::memfd_create(c"ropewalk".as_ptr(), libc::MFD_CLOEXEC) };
    match descriptor {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and has no other owner.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}
