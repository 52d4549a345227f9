//! Owned pieces of address space.

use crate::os::dirty_pages::DirtyPages;
pub(crate) use ropewalk_abi::access::PAGE;
pub(crate) use rustix::mm::ProtFlags;
use rustix::mm::{self, MapFlags, MprotectFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A piece of address space, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Map {
    base: NonNull<u8>,
    /// In whole pages. Zero if other maps have taken all of it.
    len: usize,
}

// SAFETY: a map owns its address space, independent of any thread.
unsafe impl Send for Map {}
// SAFETY: a shared map only returns addresses.
unsafe impl Sync for Map {}

/// A place for code below this library, since functions call its stubs, and near branches are
/// predicted better. Each call returns another place, which may be taken.
fn near_code(len: usize) -> *mut c_void {
    /// The maximum size of the whole program before its code.
    const GAP: usize = 256 << 20;
    /// The range of the places, after which they repeat.
    const ROOM: usize = 1 << 30;
    static USED: AtomicUsize = AtomicUsize::new(0);
    let len = len.next_multiple_of(PAGE);
    let used = USED.fetch_add(len, Ordering::Relaxed).wrapping_add(len) % ROOM;
    let ours = near_code as *const () as usize;
    let place = ours.saturating_sub(GAP + used) / PAGE * PAGE;
    ptr::without_provenance_mut(place)
}

impl Map {
    /// Reserves inaccessible address space.
    pub fn reserve(len: usize) -> io::Result<Map> {
        Map::new(len, ProtFlags::empty())
    }

    /// Maps memory that is committed when touched.
    pub fn read_write(len: usize) -> io::Result<Map> {
        Map::new(len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps writable memory for code, [near our own](near_code).
    pub fn for_code(len: usize) -> io::Result<Map> {
        Map::near(near_code(len), len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps a read-only copy of these bytes, which may include code.
    pub fn copy_of(bytes: &[u8]) -> io::Result<Map> {
        let map = Map::for_code(bytes.len().next_multiple_of(PAGE))?;
        // SAFETY: the map is writable, new, and at least as long as the bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), map.base(), bytes.len()) };
        map.protect(0, map.len, MprotectFlags::READ)?;
        Ok(map)
    }

    /// Maps a part of a file from a page boundary. It may include code.
    pub fn of_file(file: &File, part: &Range<usize>, flags: ProtFlags) -> io::Result<Map> {
        let len = part.len().max(1).next_multiple_of(PAGE);
        let (near, start) = (near_code(len), part.start as u64);
        // SAFETY: a fresh mapping touches no memory that exists.
        let base = unsafe { mm::mmap(near, len, flags, MapFlags::PRIVATE, file, start) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Map { base, len })
    }

    /// Maps a copy-on-write part of a file over a part of this map.
    pub fn map_file(&self, place: &Range<usize>, file: &File, offset: u64) -> io::Result<()> {
        assert!(place.start <= place.end && place.end <= self.len);
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        // SAFETY: the range lies in this mapping, and its contents are given up.
        unsafe { mm::mmap(self.at(place.start), place.len(), protection, flags, file, offset) }?;
        Ok(())
    }

    /// Maps zeroes over a part of this map.
    pub fn map_zeroes(&self, place: &Range<usize>) -> io::Result<()> {
        assert!(place.start <= place.end && place.end <= self.len);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: as above.
        unsafe { mm::mmap_anonymous(self.at(place.start), place.len(), protection, flags) }?;
        Ok(())
    }

    fn new(len: usize, protection: ProtFlags) -> io::Result<Map> {
        Map::near(ptr::null_mut(), len, protection)
    }

    /// Maps memory at a place if that is free, or else anywhere.
    fn near(place: *mut c_void, len: usize, protection: ProtFlags) -> io::Result<Map> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let whole_pages = len.max(1).checked_next_multiple_of(PAGE);
        let len = whole_pages.ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        // SAFETY: a fresh anonymous mapping touches no memory that exists.
        let base = unsafe { mm::mmap_anonymous(place, len, protection, flags) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Map { base, len })
    }

    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn addresses(&self) -> Range<*const u8> {
        let base = self.base().cast_const();
        base..base.wrapping_add(self.len)
    }

    /// Makes a part readable and writable.
    pub fn open(&self, start: usize, len: usize) -> io::Result<()> {
        self.protect(start, len, MprotectFlags::READ | MprotectFlags::WRITE)
    }

    pub fn close(&self, start: usize, len: usize) -> io::Result<()> {
        self.protect(start, len, MprotectFlags::empty())
    }

    /// Makes a part executable, and no longer writable.
    pub fn make_part_executable(&self, start: usize, len: usize) -> io::Result<()> {
        self.protect(start, len, MprotectFlags::READ | MprotectFlags::EXEC)
    }

    fn protect(&self, start: usize, len: usize, flags: MprotectFlags) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the range lies in this mapping, which owns it.
        unsafe { mm::mprotect(self.at(start), len, flags) }?;
        Ok(())
    }

    /// Installs a guard that needs no mapping, or makes the part inaccessible on older kernels.
    pub fn guard(&self, start: usize, len: usize) -> io::Result<()> {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the range lies in this mapping; its contents are given up.
        match unsafe { advise(self.at(start), len, MADV_GUARD_INSTALL) } {
            Err(error) if is_unknown(&error) => self.close(start, len),
            // If the part were made inaccessible instead, removing a guard would not open it.
            result => result,
        }
    }

    /// Removes a guard. The pages are zero afterwards.
    pub fn unguard(&self, start: usize, len: usize) -> io::Result<()> {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the range lies in this mapping.
        match unsafe { advise(self.at(start), len, MADV_GUARD_REMOVE) } {
            Err(error) if is_unknown(&error) => self.open(start, len),
            result => result,
        }
    }

    /// Asks for small pages: large ones would commit unused memory.
    pub fn no_huge_pages(&self) {
        // SAFETY: advice about a mapping of ours. The kernel may refuse it.
        unsafe { libc::madvise(self.at(0), self.len, libc::MADV_NOHUGEPAGE) };
    }

    /// Makes forked processes see zeroes there.
    pub fn wipe_on_fork(&self) -> io::Result<()> {
        // SAFETY: advice about an anonymous mapping of ours.
        unsafe { advise(self.at(0), self.len, libc::MADV_WIPEONFORK) }
    }

    /// Returns the memory of a part to the kernel. The part is zero afterwards.
    pub fn give_back(&self, start: usize, len: usize) {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the range lies in this mapping, and its contents are given up.
        unsafe { libc::madvise(self.at(start), len, libc::MADV_DONTNEED) };
    }

    /// How many bytes have memory; all if the kernel does not say.
    pub fn committed(&self) -> usize {
        /// How many pages one query covers.
        const PAGES: usize = 4096;
        let mut pages = [0; PAGES];
        let starts = (0..self.len).step_by(PAGES * PAGE);
        let of_part = |start: usize| {
            let len = (self.len - start).min(PAGES * PAGE);
            // SAFETY: there is a byte for each page of this part of the mapping.
            match unsafe { libc::mincore(self.at(start), len, pages.as_mut_ptr()) } {
                0 => pages[..len / PAGE].iter().filter(|page| **page & 1 != 0).count() * PAGE,
                _ => len,
            }
        };
        starts.map(of_part).sum()
    }

    /// Moves the first `len` bytes of another map, which are whole pages, to the beginning of this
    /// one. The other map keeps the rest. If the move fails, the other map is unchanged, and this
    /// map has lost its first `len` bytes.
    pub fn take_pages(&mut self, from: &mut Map, len: usize) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        assert!(len <= from.len && len <= self.len && len.is_multiple_of(PAGE));
        let start = from.base() as usize;
        DirtyPages::forget(&(start..start + len));
        // SAFETY: both ranges lie in our mappings, and the caller gives up `from`'s contents.
        let moved =
            unsafe { mm::mremap_fixed(from.at(0), len, len, mm::MremapFlags::MAYMOVE, self.at(0)) };
        match moved {
            Ok(_) => from.lose(len),
            // The kernel may have unmapped the destination before it failed.
            Err(_) => self.lose(len),
        }
        moved?;
        Ok(())
    }

    /// Gives up the first `len` bytes, which may belong to another mapping now.
    fn lose(&mut self, len: usize) {
        // SAFETY: the end of a mapping is not null.
        self.base = unsafe { self.base.add(len) };
        self.len -= len;
    }

    fn at(&self, offset: usize) -> *mut c_void {
        self.base.as_ptr().wrapping_add(offset).cast()
    }
}

/// Gives unused pages back, inaccessible until [`return_to_pages`] if the kernel supports it.
///
/// # Safety
///
/// They must be readable and writable, and their contents unused.
pub(crate) unsafe fn leave_pages(start: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if advise(start as *mut c_void, len, MADV_GUARD_INSTALL).is_err() {
            libc::madvise(start as *mut c_void, len, libc::MADV_DONTNEED);
        }
    }
}

/// Makes pages accessible again.
///
/// # Safety
///
/// The pages must have been left with [`leave_pages`].
pub(crate) unsafe fn return_to_pages(start: usize, len: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { advise(start as *mut c_void, len, MADV_GUARD_REMOVE) } {
        // This kernel never made them inaccessible.
        Err(error) if is_unknown(&error) => Ok(()),
        result => result,
    }
}

/// Calls `madvise`.
///
/// # Safety
///
/// The pages must be the caller's, and the advice harmless to their contents.
unsafe fn advise(start: *mut c_void, len: usize, advice: i32) -> io::Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { libc::madvise(start, len, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the kernel does not know the advice.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

/// `MADV_GUARD_INSTALL`, in Linux since 6.13.
const MADV_GUARD_INSTALL: i32 = 102;
/// `MADV_GUARD_REMOVE`, likewise.
const MADV_GUARD_REMOVE: i32 = 103;

impl Drop for Map {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        // SAFETY: the owner has given up all pointers into the map. An error would only leak it.
        let _ = unsafe { mm::munmap(self.at(0), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_whole_pages() {
        for (asked, expected) in [(0, 1), (1, 1), (PAGE, 1), (PAGE + 1, 2), (3 * PAGE - 1, 3)] {
            assert_eq!(Map::read_write(asked).unwrap().len(), expected * PAGE, "{asked}");
        }
        let error = Map::reserve(usize::MAX).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }

    #[test]
    fn a_place_that_nothing_could_be_moved_to_is_given_up() {
        let mut from = Map::read_write(2 * PAGE).unwrap();
        let mut to = Map::read_write(4 * PAGE).unwrap();
        let (base, end) = (from.base(), to.base().wrapping_add(4 * PAGE));
        // SAFETY: the pages are the map's, which is not used again.
        unsafe { libc::munmap(from.at(0), 2 * PAGE) };
        assert!(to.take_pages(&mut from, 2 * PAGE).is_err());
        assert_eq!((from.base(), from.len()), (base, 2 * PAGE));
        assert_eq!((to.base().wrapping_add(to.len()), to.len()), (end, 2 * PAGE));
        from.lose(2 * PAGE);
    }
}
