//! The memory of a program, in which nothing is read or written unchecked.
//!
//! A pointer of a program is any number. What it is to point to is checked before
//! a function does anything, so that one which fails with `EFAULT` has done nothing.

use crate::errno::{Errno, Result};
use smallvec::SmallVec;
use std::io::{IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::ops::Range;

/// How many buffers the host takes at a time. The rest is left for another call,
/// as for any short read or write.
const MOST_BUFFERS: usize = 1024;

/// How many `iovec`s are looked at. More are an error, as more than 1024 are on the host.
const MOST_VECTORS: usize = 1 << 16;

/// How long a path of the host can be, without the zero at its end.
const LONGEST_PATH: usize = 4095;

/// How much of a memory a program can name: pointers have 32 bits, also those to a memory with
/// 64-bit addresses.
const REACH: usize = 1 << 32;

/// The memory that a program exports, as far as its pointers reach.
pub(crate) struct Guest<'a> {
    bytes: &'a mut [u8],
    /// What was written, if anybody wants to know.
    written: Option<Vec<Range<usize>>>,
}

/// A place for a result, in bounds.
pub(crate) struct Place<T> {
    at: usize,
    _ty: PhantomData<T>,
}

/// Buffers of a program, in bounds. All together they are less than 4 GiB.
pub(crate) type Buffers = SmallVec<[Range<usize>; 4]>;

/// A number that is stored in little-endian order.
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

impl<'a> Guest<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Guest<'a> {
        let reach = bytes.len().min(REACH);
        Guest { bytes: &mut bytes[..reach], written: None }
    }

    /// The same, which notes what is written.
    pub(crate) fn noting(bytes: &'a mut [u8], written: Vec<Range<usize>>) -> Guest<'a> {
        Guest { written: Some(written), ..Guest::new(bytes) }
    }

    /// Where something was written, if that was noted; and the memory.
    pub(crate) fn into_written(self) -> (Vec<Range<usize>>, &'a [u8]) {
        (self.written.unwrap_or_default(), self.bytes)
    }

    /// Notes what is written; with what was written before it, if it follows that.
    fn note(&mut self, range: &Range<usize>) {
        let Some(written) = &mut self.written else { return };
        match written.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => written.push(range.clone()),
        }
    }

    /// The bytes from an address.
    pub(crate) fn range(&self, at: i32, len: usize) -> Result<Range<usize>> {
        let at = at as u32 as usize;
        match at.checked_add(len) {
            Some(end) if end <= self.bytes.len() => Ok(at..end),
            _ => Err(Errno::FAULT.into()),
        }
    }

    /// The bytes from an address, with a length of the program's.
    pub(crate) fn buffer(&self, at: i32, len: i32) -> Result<Range<usize>> {
        self.range(at, len as u32 as usize)
    }

    /// `count` elements of a size, from an address.
    pub(crate) fn array(&self, at: i32, count: i32, size: usize) -> Result<Range<usize>> {
        let bytes = (count as u32 as usize).checked_mul(size).ok_or(Errno::FAULT)?;
        self.range(at, bytes)
    }

    /// Where a result is to be stored.
    pub(crate) fn place<T: Number>(&self, at: i32) -> Result<Place<T>> {
        let at = self.range(at, T::SIZE)?.start;
        Ok(Place { at, _ty: PhantomData })
    }

    /// Stores a result.
    pub(crate) fn put<T: Number>(&mut self, place: Place<T>, value: T) {
        value.encode(self.get_mut(place.at..place.at + T::SIZE));
    }

    /// Stores the number of bytes or of things that a function tells, which are
    /// never more than memory has.
    pub(crate) fn put_count(&mut self, place: Place<u32>, count: usize) {
        self.put(place, u32::try_from(count).expect("less than memory has"));
    }

    /// Stores as many bytes as there is room for, and returns the rest of the room.
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
        self.note(&range);
        &mut self.bytes[range]
    }

    /// A path.
    pub(crate) fn path(&self, at: i32, len: i32) -> Result<&str> {
        let bytes = &self.bytes[self.buffer(at, len)?];
        if bytes.len() > LONGEST_PATH {
            return Err(Errno::NAMETOOLONG.into());
        }
        Ok(std::str::from_utf8(bytes).map_err(|_| Errno::ILSEQ)?)
    }

    /// The buffers of an array of `iovec`s, or `EINVAL` if there are too many, or they are too
    /// long all together.
    pub(crate) fn buffers(&self, at: i32, count: i32) -> Result<Buffers> {
        let vectors = self.bytes[self.array(at, count, 8)?].chunks_exact(8);
        if vectors.len() > MOST_VECTORS {
            return Err(Errno::INVAL.into());
        }
        let (mut buffers, mut total) = (Buffers::new(), 0u32);
        for vector in vectors {
            let (at, len) = (word(vector, 0), word(vector, 4));
            total = total.checked_add(len).ok_or(Errno::INVAL)?;
            let buffer = self.range(at as i32, len as usize)?;
            if !buffer.is_empty() && buffers.len() < MOST_BUFFERS {
                buffers.push(buffer);
            }
        }
        Ok(buffers)
    }

    /// Buffers to be written out. They may overlap.
    pub(crate) fn slices(&self, buffers: &Buffers) -> SmallVec<[IoSlice<'_>; 4]> {
        buffers.iter().map(|buffer| IoSlice::new(&self.bytes[buffer.clone()])).collect()
    }

    /// Buffers to be read into. Where they overlap, only the first is used, as for
    /// a short read. Who has read says [how much](Guest::filled).
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

    /// As many bytes were read into buffers.
    pub(crate) fn filled(&mut self, buffers: &Buffers, mut len: usize) {
        for buffer in buffers {
            let filled = buffer.start..buffer.start + buffer.len().min(len);
            len -= filled.len();
            self.note(&filled);
        }
    }
}

/// A word of a record.
pub(crate) fn word(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

/// A double word of a record.
pub(crate) fn double_word(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errno::Failure;

    fn errno<T>(result: Result<T>) -> Errno {
        match result {
            Err(Failure::Errno(errno)) => errno,
            _ => Errno::SUCCESS,
        }
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
    fn nothing_outside_of_memory_is_reached() {
        let mut bytes = [0; 16];
        let guest = Guest::new(&mut bytes);
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
        assert_eq!(errno(Guest::new(&mut bytes).buffers(0, 2)), Errno::INVAL);
        let mut bytes = memory(&[(99, 2)]);
        assert_eq!(errno(Guest::new(&mut bytes).buffers(0, 1)), Errno::FAULT);
    }

    #[test]
    fn buffers_keep_their_order_and_overlapping_ones_are_read_into_one_at_a_time() {
        let mut bytes = memory(&[(60, 4), (40, 0), (50, 2)]);
        let mut guest = Guest::new(&mut bytes);
        let buffers = guest.buffers(0, 3).unwrap();
        let lengths =
            |slices: &[IoSliceMut<'_>]| slices.iter().map(|s| s.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&guest.slices_mut(&buffers)), [4, 2]);

        let mut bytes = memory(&[(60, 4), (63, 2)]);
        let mut guest = Guest::new(&mut bytes);
        let buffers = guest.buffers(0, 2).unwrap();
        assert_eq!(lengths(&guest.slices_mut(&buffers)), [4]);
        assert_eq!(guest.slices(&buffers).len(), 2);
    }

    #[test]
    fn paths_are_utf_8() {
        let mut bytes = *b"a\xff";
        let guest = Guest::new(&mut bytes);
        assert_eq!(guest.path(0, 1).unwrap(), "a");
        assert_eq!(errno(guest.path(0, 2)), Errno::ILSEQ);
    }
}
