//! Checked access to the memory of a program.
//!
//! A pointer of a program can be any number. Functions check all pointers first, so a function
//! that fails with `EFAULT` has had no effect.

use crate::abi::errno::{Errno, Result};
use smallvec::SmallVec;
use std::io::{IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::ops::Range;

/// The maximum number of buffers that the host accepts. Further buffers are ignored, which
/// results in a short read or write.
const MAX_BUFFERS: usize = 1024;

/// The maximum number of `iovec`s. More are an error, as on the host.
const MAX_VECTORS: usize = 1 << 16;

/// The maximum length of a path on the host, without the terminating zero.
const MAX_PATH: usize = 4095;

/// The size that 32-bit pointers can address, which programs with a 64-bit memory use too.
const ADDRESSABLE: usize = 1 << 32;

/// The addressable part of the memory that a program exports.
pub(crate) struct GuestMemory<'a> {
    bytes: &'a mut [u8],
    /// The ranges that were written, if they are tracked.
    written: Option<Vec<Range<usize>>>,
}

/// A location for a result, within bounds.
pub(crate) struct GuestPlace<T> {
    at: usize,
    _ty: PhantomData<T>,
}

/// Buffers of a program, within bounds. Their total size is below 4 GiB.
pub(crate) type Buffers = SmallVec<[Range<usize>; 4]>;

/// A number, stored in little-endian order.
pub(crate) trait Number: Sized {
    const SIZE: usize;

    fn encode(self, bytes: &mut [u8]);
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            const SIZE: usize = size_of::<$ty>();

            fn encode(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u16, u32, u64);

impl<'a> GuestMemory<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> GuestMemory<'a> {
        let len = bytes.len().min(ADDRESSABLE);
        GuestMemory { bytes: &mut bytes[..len], written: None }
    }

    /// A memory that adds the ranges it writes to `written`.
    pub(crate) fn tracking(bytes: &'a mut [u8], written: Vec<Range<usize>>) -> GuestMemory<'a> {
        GuestMemory { written: Some(written), ..GuestMemory::new(bytes) }
    }

    /// The ranges that were written, if they were tracked, and the memory.
    pub(crate) fn into_written(self) -> (Vec<Range<usize>>, &'a [u8]) {
        (self.written.unwrap_or_default(), self.bytes)
    }

    /// Adds a written range, or extends the last one.
    fn track(&mut self, range: &Range<usize>) {
        let Some(written) = &mut self.written else { return };
        match written.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => written.push(range.clone()),
        }
    }

    /// The range of `len` bytes at an address.
    pub(crate) fn range(&self, at: i32, len: usize) -> Result<Range<usize>> {
        let at = at as u32 as usize;
        match at.checked_add(len) {
            Some(end) if end <= self.bytes.len() => Ok(at..end),
            _ => Err(Errno::FAULT),
        }
    }

    /// Like `range`, with a length from the program.
    pub(crate) fn buffer(&self, at: i32, len: i32) -> Result<Range<usize>> {
        self.range(at, len as u32 as usize)
    }

    /// The range of `count` elements at an address.
    pub(crate) fn array(&self, at: i32, count: i32, size: usize) -> Result<Range<usize>> {
        let bytes = (count as u32 as usize).checked_mul(size).ok_or(Errno::FAULT)?;
        self.range(at, bytes)
    }

    /// The location of a result at an address.
    pub(crate) fn place<T: Number>(&self, at: i32) -> Result<GuestPlace<T>> {
        let at = self.range(at, T::SIZE)?.start;
        Ok(GuestPlace { at, _ty: PhantomData })
    }

    pub(crate) fn put<T: Number>(&mut self, place: GuestPlace<T>, value: T) {
        value.encode(self.get_mut(place.at..place.at + T::SIZE));
    }

    /// Stores a count of bytes or elements in memory.
    pub(crate) fn put_count(&mut self, place: GuestPlace<u32>, count: usize) {
        self.put(place, u32::try_from(count).expect("a count within memory"));
    }

    /// Stores as many bytes as fit; returns the remaining room.
    pub(crate) fn put_bytes(&mut self, room: Range<usize>, bytes: &[u8]) -> Range<usize> {
        let taken = bytes.len().min(room.len());
        let end = room.start + taken;
        self.get_mut(room.start..end).copy_from_slice(&bytes[..taken]);
        end..room.end
    }

    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    pub(crate) fn get_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.track(&range);
        &mut self.bytes[range]
    }

    pub(crate) fn path(&self, at: i32, len: i32) -> Result<&str> {
        let bytes = &self.bytes[self.buffer(at, len)?];
        if bytes.len() > MAX_PATH {
            return Err(Errno::NAMETOOLONG);
        }
        std::str::from_utf8(bytes).map_err(|_| Errno::ILSEQ)
    }

    /// The buffers of an array of `iovec`s, or `EINVAL` if their number or total size is too
    /// large.
    pub(crate) fn buffers(&self, at: i32, count: i32) -> Result<Buffers> {
        let vectors = self.bytes[self.array(at, count, 8)?].chunks_exact(8);
        if vectors.len() > MAX_VECTORS {
            return Err(Errno::INVAL);
        }
        let (mut buffers, mut total) = (Buffers::new(), 0u32);
        for vector in vectors {
            let (at, len) = (word(vector, 0), word(vector, 4));
            total = total.checked_add(len).ok_or(Errno::INVAL)?;
            let buffer = self.range(at as i32, len as usize)?;
            if !buffer.is_empty() && buffers.len() < MAX_BUFFERS {
                buffers.push(buffer);
            }
        }
        Ok(buffers)
    }

    /// Buffers to write from. They may overlap.
    pub(crate) fn slices(&self, buffers: &Buffers) -> SmallVec<[IoSlice<'_>; 4]> {
        buffers.iter().map(|buffer| IoSlice::new(&self.bytes[buffer.clone()])).collect()
    }

    /// Buffers to read into. If any overlap, only the first is used, which results in a short
    /// read. The caller then calls [`filled`](Self::filled).
    pub(crate) fn slices_mut(&mut self, buffers: &Buffers) -> SmallVec<[IoSliceMut<'_>; 4]> {
        let mut order: SmallVec<[usize; 4]> = (0..buffers.len()).collect();
        order.sort_unstable_by_key(|&i| buffers[i].start);
        let overlap = order.windows(2).any(|i| buffers[i[0]].end > buffers[i[1]].start);
        let order = if overlap { SmallVec::from_slice(&[0]) } else { order };

        let mut slices: SmallVec<[_; 4]> = SmallVec::new();
        let (mut rest, mut passed) = (&mut *self.bytes, 0);
        for i in order {
            let (_, from) = rest.split_at_mut(buffers[i].start - passed);
            let (slice, after) = from.split_at_mut(buffers[i].len());
            slices.push((i, slice));
            (rest, passed) = (after, buffers[i].end);
        }
        slices.sort_unstable_by_key(|(i, _)| *i);
        slices.into_iter().map(|(_, slice)| IoSliceMut::new(slice)).collect()
    }

    /// Tracks that `len` bytes were read into buffers.
    pub(crate) fn filled(&mut self, buffers: &Buffers, mut len: usize) {
        for buffer in buffers {
            let filled = buffer.start..buffer.start + buffer.len().min(len);
            len -= filled.len();
            self.track(&filled);
        }
    }
}

/// The 32-bit number at an offset of a record.
pub(crate) fn word(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

/// The 64-bit number at an offset of a record.
pub(crate) fn double_word(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno<T>(result: Result<T>) -> Errno {
        result.err().unwrap_or(Errno::SUCCESS)
    }

    /// Memory with an array of `iovec`s at its beginning.
    fn memory(vectors: &[(u32, u32)]) -> Vec<u8> {
        let mut bytes: Vec<u8> = vectors
            .iter()
            .flat_map(|(at, len)| [at.to_le_bytes(), len.to_le_bytes()].concat())
            .collect();
        bytes.resize(100, 0);
        bytes
    }

    #[test]
    fn ranges_outside_of_memory_are_refused() {
        let mut bytes = [0; 16];
        let guest = GuestMemory::new(&mut bytes);
        assert_eq!(guest.range(8, 8).unwrap(), 8..16);
        assert_eq!(guest.range(16, 0).unwrap(), 16..16);
        assert_eq!(errno(guest.range(9, 8)), Errno::FAULT);
        assert_eq!(errno(guest.range(17, 0)), Errno::FAULT);
        assert_eq!(errno(guest.range(-1, 1)), Errno::FAULT);
        assert_eq!(errno(guest.buffer(0, -1)), Errno::FAULT);
        assert_eq!(errno(guest.array(0, -1, 48)), Errno::FAULT);
        assert_eq!(errno(guest.place::<u64>(9)), Errno::FAULT);
        assert_eq!(errno(guest.path(0, 17)), Errno::FAULT);
    }

    #[test]
    fn lengths_of_buffers_do_not_overflow() {
        let mut bytes = memory(&[(0, 100), (0, u32::MAX)]);
        assert_eq!(errno(GuestMemory::new(&mut bytes).buffers(0, 2)), Errno::INVAL);
        let mut bytes = memory(&[(99, 2)]);
        assert_eq!(errno(GuestMemory::new(&mut bytes).buffers(0, 1)), Errno::FAULT);
    }

    #[test]
    fn buffers_keep_their_order_and_overlapping_buffers_are_read_into_one_at_a_time() {
        let mut bytes = memory(&[(60, 4), (40, 0), (50, 2)]);
        let mut guest = GuestMemory::new(&mut bytes);
        let buffers = guest.buffers(0, 3).unwrap();
        let lengths =
            |slices: &[IoSliceMut<'_>]| slices.iter().map(|s| s.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&guest.slices_mut(&buffers)), [4, 2]);

        let mut bytes = memory(&[(60, 4), (63, 2)]);
        let mut guest = GuestMemory::new(&mut bytes);
        let buffers = guest.buffers(0, 2).unwrap();
        assert_eq!(lengths(&guest.slices_mut(&buffers)), [4]);
        assert_eq!(guest.slices(&buffers).len(), 2);
    }

    #[test]
    fn paths_are_utf_8() {
        let mut bytes = *b"a\xff";
        let guest = GuestMemory::new(&mut bytes);
        assert_eq!(guest.path(0, 1).unwrap(), "a");
        assert_eq!(errno(guest.path(0, 2)), Errno::ILSEQ);
    }
}
