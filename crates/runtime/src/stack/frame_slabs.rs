//! A slab allocator for the frames of parked stacks.
//!
//! Each *slab* holds pieces of one size. Slabs are aligned to their size and begin with a header,
//! so the address of a piece leads to it:
//!
//! ```text
//!   chunk, one mapping   | slab | slab | slab | ...
//!   slab, 64 KiB         | head | piece | piece | free piece: next --> | ... never used |
//! ```
//!
//! A slab without pieces gives its memory back and can serve another size. Pieces larger than
//! [`LARGEST`] come from the process's allocator.

use crate::os::mapping::{Map, PAGE};
use std::collections::HashMap;
use std::ptr::{self, NonNull};

const SLAB: usize = 64 << 10;
const SLABS_PER_CHUNK: usize = 256;
const STEP: usize = 16;
/// The largest piece that comes from a slab.
const LARGEST: usize = 2048;
const READY_SLABS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct FrameSlabs {
    chunks: Vec<Map>,
    /// The number of slabs of the newest chunk that were used.
    used: usize,
    empty: Vec<NonNull<Slab>>,
    /// For each size, a linked list of the slabs with room.
    with_room: Vec<*mut Slab>,
    /// Pieces that are too large for slabs, by address.
    large: HashMap<NonNull<u8>, Vec<u128>>,
    bytes: usize,
    /// The bytes of slabs and of larger pieces that have memory.
    touched: usize,
}

// SAFETY: the slabs belong to this allocator alone.
unsafe impl Send for FrameSlabs {}
// SAFETY: nothing changes through a shared reference.
unsafe impl Sync for FrameSlabs {}

#[derive(Debug)]
#[repr(C)]
struct Slab {
    size: usize,
    in_use: usize,
    /// The first of the pieces that were freed.
    free: *mut FreePiece,
    /// The offset of the part that was never used.
    fresh: usize,
    /// The neighbors in the list of slabs with room.
    next: *mut Slab,
    previous: *mut Slab,
    is_listed: bool,
    /// The bytes from its beginning that have memory, in whole pages. Zero if the slab was never
    /// used, or gave its memory back.
    touched: usize,
}

#[derive(Debug)]
struct FreePiece {
    next: *mut FreePiece,
}

const FIRST: usize = size_of::<Slab>().next_multiple_of(STEP);

const _: () = assert!(size_of::<FreePiece>() <= STEP);

impl Slab {
    fn is_full(&self) -> bool {
        self.free.is_null() && self.fresh + self.size > SLAB
    }
}

pub(super) fn piece_size(bytes: usize) -> usize {
    bytes.next_multiple_of(STEP)
}

impl FrameSlabs {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// An upper bound of the memory that pieces and slabs take, in bytes.
    pub fn touched(&self) -> usize {
        self.touched
    }

    pub fn reserved(&self) -> usize {
        self.chunks.iter().map(Map::len).sum()
    }

    pub fn committed(&self) -> usize {
        self.chunks.iter().map(Map::committed).sum()
    }

    /// Allocates at least this many bytes. Returns `None` if there is no memory.
    pub fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let size = piece_size(bytes);
        let piece = match size <= LARGEST {
            true => self.take_from_slab(size)?,
            false => self.take_large(size)?,
        };
        self.bytes += size;
        Some(piece)
    }

    fn take_large(&mut self, size: usize) -> Option<NonNull<u8>> {
        let mut memory: Vec<u128> = Vec::new();
        memory.try_reserve_exact(size / size_of::<u128>()).ok()?;
        let piece = NonNull::new(memory.as_mut_ptr())?.cast();
        self.large.try_reserve(1).ok()?;
        self.large.insert(piece, memory);
        self.touched += size;
        Some(piece)
    }

    fn take_from_slab(&mut self, size: usize) -> Option<NonNull<u8>> {
        if self.with_room.is_empty() {
            const SIZES: usize = LARGEST / STEP + 1;
            self.with_room.try_reserve_exact(SIZES).ok()?;
            self.with_room.resize(SIZES, ptr::null_mut());
        }
        let mut slab = self.with_room[size / STEP];
        if slab.is_null() {
            slab = self.new_slab(size)?.as_ptr();
            // SAFETY: the slab was just made.
            unsafe { self.list(slab) };
        }
        // SAFETY: listed slabs have room, and their free pieces are unused.
        unsafe {
            let head = &mut *slab;
            let piece = match head.free.is_null() {
                true => {
                    head.fresh += size;
                    slab.byte_add(head.fresh - size).cast()
                }
                false => {
                    let piece = head.free;
                    head.free = (*piece).next;
                    piece.cast()
                }
            };
            head.in_use += 1;
            let end = head.fresh.next_multiple_of(PAGE);
            self.touched += end.saturating_sub(head.touched);
            head.touched = head.touched.max(end);
            if head.is_full() {
                self.unlist(slab);
            }
            NonNull::new(piece)
        }
    }

    /// Frees a piece.
    ///
    /// # Safety
    ///
    /// The piece must have been allocated with this size, and not be used anymore.
    pub unsafe fn put(&mut self, piece: NonNull<u8>, bytes: usize) {
        let size = piece_size(bytes);
        self.bytes -= size;
        if size > LARGEST {
            self.touched -= size;
            self.large.remove(&piece);
            return;
        }
        // SAFETY: a slab is aligned to its size and begins with its header.
        unsafe {
            let slab = piece.as_ptr().map_addr(|address| address & !(SLAB - 1)).cast::<Slab>();
            let free = piece.cast::<FreePiece>().as_ptr();
            free.write(FreePiece { next: (*slab).free });
            (*slab).free = free;
            (*slab).in_use -= 1;
            debug_assert_eq!((*slab).size, size);
            if (*slab).in_use == 0 {
                self.unlist(slab);
                self.put_slab(slab);
            } else if !(*slab).is_listed {
                self.list(slab);
            }
        }
    }

    fn put_slab(&mut self, slab: *mut Slab) {
        if self.empty.len() >= READY_SLABS {
            // The header is given back too. It is written again when the slab is reused.
            // SAFETY: the slab lies in a chunk, and nothing of it is in use.
            unsafe {
                self.touched -= (*slab).touched;
                libc::madvise(slab.cast(), SLAB, libc::MADV_DONTNEED);
            }
        }
        self.empty.extend(NonNull::new(slab));
    }

    fn new_slab(&mut self, size: usize) -> Option<NonNull<Slab>> {
        let slab = self.empty.pop().or_else(|| self.next_slab())?;
        let (free, next, previous) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: nothing else uses the slab. Its `touched` is either what it was, or zero.
        unsafe {
            let touched = slab.as_ref().touched;
            let (in_use, fresh, is_listed) = (0, FIRST, false);
            slab.write(Slab { size, in_use, free, fresh, next, previous, is_listed, touched });
        }
        Some(slab)
    }

    fn next_slab(&mut self) -> Option<NonNull<Slab>> {
        if self.chunks.is_empty() || self.used == SLABS_PER_CHUNK {
            // One slab more, so that the chunk can begin at an aligned address.
            let chunk = Map::read_write((SLABS_PER_CHUNK + 1) * SLAB).ok()?;
            self.chunks.try_reserve(1).ok()?;
            // Every slab of the chunks can become empty.
            let all = (self.chunks.len() + 1) * SLABS_PER_CHUNK;
            self.empty.try_reserve(all - self.empty.len()).ok()?;
            self.chunks.push(chunk);
            self.used = 0;
        }
        let base = self.chunks.last()?.base();
        let first = base.wrapping_add(base.align_offset(SLAB));
        let slab = first.wrapping_add(self.used * SLAB);
        self.used += 1;
        NonNull::new(slab.cast())
    }

    unsafe fn list(&mut self, slab: *mut Slab) {
        // SAFETY: the slab and the listed ones are alive.
        unsafe {
            let first = &mut self.with_room[(*slab).size / STEP];
            (*slab).next = *first;
            (*slab).previous = ptr::null_mut();
            (*slab).is_listed = true;
            if let Some(next) = first.as_mut() {
                next.previous = slab;
            }
            *first = slab;
        }
    }

    unsafe fn unlist(&mut self, slab: *mut Slab) {
        // SAFETY: as above.
        unsafe {
            if !(*slab).is_listed {
                return;
            }
            let Slab { size, next, previous, .. } = *slab;
            match previous.as_mut() {
                Some(previous) => previous.next = next,
                None => self.with_room[size / STEP] = next,
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            (*slab).is_listed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_and_are_used_again() {
        let mut packed = FrameSlabs::default();
        let mut pieces: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for step in 0..40_000 {
            if random(5) < 3 {
                let most = if random(50) == 0 { 9000 } else { 600 };
                let bytes = 1 + random(most);
                let piece = packed.take(bytes).expect("there is memory");
                let mark = step as u8;
                // SAFETY: the piece has as many bytes.
                unsafe { piece.write_bytes(mark, bytes) };
                pieces.push((piece, bytes, mark));
            } else if !pieces.is_empty() {
                let (piece, bytes, mark) = pieces.swap_remove(random(pieces.len()));
                // SAFETY: nothing else has written to the piece.
                unsafe {
                    let content = std::slice::from_raw_parts(piece.as_ptr(), bytes);
                    assert!(content.iter().all(|byte| *byte == mark));
                    packed.put(piece, bytes);
                }
            }
        }
        let reserved = packed.reserved();
        let large: usize = packed.large.values().map(|piece| piece.capacity() * 16).sum();
        assert_eq!(packed.committed() + large, packed.touched());
        for (piece, bytes, _) in pieces.drain(..) {
            // SAFETY: as above.
            unsafe { packed.put(piece, bytes) };
        }
        assert_eq!(packed.bytes(), 0);
        assert!(packed.committed() <= packed.touched(), "{}", packed.committed());
        assert!(packed.touched() <= READY_SLABS * SLAB, "{}", packed.touched());
        // Pieces of other sizes reuse the same memory.
        for _ in 0..100 {
            packed.take(2000).expect("there is memory");
        }
        assert_eq!(packed.reserved(), reserved);
    }
}
