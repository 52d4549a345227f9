//! Tracking dirty pages: which pages of memory were written since the last query.
//!
//! The kernel write-protects the pages and removes the protection itself at the first write
//! (userfaultfd with `UFFD_FEATURE_WP_ASYNC`). The process sees no fault, and system calls that
//! write to such a page succeed. `PAGEMAP_SCAN` lists the unprotected pages and protects them again
//! in one step. Linux has both since 6.7.
//!
//! ```text
//!   watch              write             take_written         write ...
//!   | all protected    | one is not      | it is returned, and protected again
//! ```
//!
//! Where the kernel does not support or allow this, callers compare contents.

use crate::os::mapping::{Map, PAGE};
use rustix::mm::{UserfaultfdFlags, userfaultfd};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

static PAGES: OnceLock<Option<DirtyPages>> = OnceLock::new();

/// Dirty-page tracking of a process.
#[derive(Debug)]
pub(crate) struct DirtyPages {
    faults: OwnedFd,
    pages: File,
    /// A page that is zero in forked processes, which inherit descriptors of our memory.
    ours: Map,
}

impl DirtyPages {
    /// The tracker of this process, if the kernel allows one.
    pub fn of_process() -> Option<&'static DirtyPages> {
        let pages = PAGES.get_or_init(|| DirtyPages::new().ok()).as_ref();
        pages.filter(|pages| pages.are_ours())
    }

    /// Stops tracking pages that move. Before 6.13, kernels would move marks without protection.
    pub fn forget(range: &Range<usize>) {
        let Some(pages) = PAGES.get().and_then(Option::as_ref).filter(|pages| pages.are_ours())
        else {
            return;
        };
        let Range { start, end } = whole_pages(range);
        let mut range = Span { start: start as u64, len: (end - start) as u64 };
        // Pages that are not tracked cause an error here, which is harmless.
        let _ = control(pages.faults.as_raw_fd(), UFFDIO_UNREGISTER, &mut range);
    }

    fn new() -> io::Result<DirtyPages> {
        // The kernel itself never waits for a fault handler, so user mode is enough.
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: only memory of ours is registered, and no fault in it is left to us.
        let faults = unsafe { userfaultfd(flags) }?;
        let mut api = Api {
            api: UFFD_API,
            features: UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_ASYNC,
            ioctls: 0,
        };
        control(faults.as_raw_fd(), UFFDIO_API, &mut api)?;
        let pages = File::open("/proc/self/pagemap")?;
        let ours = Map::read_write(PAGE)?;
        ours.wipe_on_fork()?;
        // SAFETY: the page is the map's.
        unsafe { ours.base().write_volatile(1) };
        Ok(DirtyPages { faults, pages, ours })
    }

    /// Whether this process opened the tracker, rather than inherited it by a fork.
    fn are_ours(&self) -> bool {
        // SAFETY: the page lives as long as the map.
        unsafe { self.ours.base().read_volatile() == 1 }
    }

    /// Starts tracking writes to a map. All its pages count as dirty at first.
    pub fn watch(&self, map: &Range<usize>) -> io::Result<()> {
        let Range { start, end } = whole_pages(map);
        if start == end {
            return Ok(());
        }
        let mut register = Register {
            start: start as u64,
            len: (end - start) as u64,
            mode: UFFDIO_REGISTER_MODE_WP,
            ioctls: 0,
        };
        control(self.faults.as_raw_fd(), UFFDIO_REGISTER, &mut register)?;
        Ok(())
    }

    /// The dirty pages of a part of the tracked memory, as sorted addresses, which become clean.
    /// Pages without memory are left out: they are zero, or contain what a file has there.
    ///
    /// Fails if part of it is not tracked.
    pub fn take_written(&self, part: &Range<usize>) -> io::Result<Vec<Range<usize>>> {
        let Range { mut start, end } = whole_pages(part);
        let mut written: Vec<Range<usize>> = Vec::new();
        let mut found = [PageRegion { start: 0, end: 0, categories: 0 }; AT_ONCE];
        while start < end {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                flags: PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC,
                start: start as u64,
                end: end as u64,
                walk_end: 0,
                vec: found.as_mut_ptr() as u64,
                vec_len: AT_ONCE as u64,
                max_pages: 0,
                category_inverted: 0,
                category_mask: PAGE_IS_WRITTEN,
                category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                return_mask: PAGE_IS_WRITTEN,
            };
            let count = control(self.pages.as_raw_fd(), PAGEMAP_SCAN, &mut scan)?;
            for PageRegion { start, end, .. } in &found[..count] {
                let (start, end) = (*start as usize, *end as usize);
                match written.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => written.push(start..end),
                }
            }
            start = (scan.walk_end as usize).max(start + PAGE);
        }
        Ok(written)
    }
}

/// How many regions one scan returns at most.
const AT_ONCE: usize = 256;

fn whole_pages(range: &Range<usize>) -> Range<usize> {
    range.start / PAGE * PAGE..range.end.next_multiple_of(PAGE)
}

/// Sends a request to a descriptor; returns its result.
fn control<T>(descriptor: RawFd, request: u64, argument: &mut T) -> io::Result<usize> {
    // SAFETY: each request gets its record, and changes only the protection of our own pages.
    let result = unsafe { libc::ioctl(descriptor, request as libc::Ioctl, argument) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

const fn read_write<T>(kind: u8, number: u8) -> u64 {
    1 << 30 | read::<T>(kind, number)
}

const fn read<T>(kind: u8, number: u8) -> u64 {
    2 << 30 | (size_of::<T>() as u64) << 16 | (kind as u64) << 8 | number as u64
}

const UFFD_USER_MODE_ONLY: UserfaultfdFlags = UserfaultfdFlags::from_bits_retain(1);
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: u64 = read_write::<Api>(0xaa, 0x3f);
const UFFDIO_REGISTER: u64 = read_write::<Register>(0xaa, 0);
const UFFDIO_UNREGISTER: u64 = read::<Span>(0xaa, 1);
const PAGEMAP_SCAN: u64 = read_write::<Scan>(b'f', 16);
const UFFD_FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
/// Protects the returned pages again.
const PM_SCAN_WP_MATCHING: u64 = 1;
/// Fails where a page is not tracked.
const PM_SCAN_CHECK_WPASYNC: u64 = 1 << 1;
const PAGE_IS_WRITTEN: u64 = 1 << 1;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_range`.
#[repr(C)]
struct Span {
    start: u64,
    len: u64,
}

/// `struct page_region`.
#[derive(Clone, Copy)]
#[repr(C)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg`.
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const _: () = assert!(size_of::<Api>() == 24 && size_of::<Register>() == 32);
const _: () = assert!(size_of::<Span>() == 16);
const _: () = assert!(size_of::<PageRegion>() == 24 && size_of::<Scan>() == 96);

/// A mapping whose dirty pages can be tracked, and the part of it that is in use.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub map: Range<usize>,
    pub used: Range<usize>,
}

impl Region {
    pub fn new(map: Range<*const u8>, used: Range<usize>) -> Region {
        Region { map: map.start as usize..map.end as usize, used }
    }

    /// The region of a slice in a map.
    pub fn of<T>(map: Range<*const u8>, used: &[T]) -> Region {
        let start = used.as_ptr() as usize;
        Region::new(map, start..start + size_of_val(used))
    }

    /// The dirty pages, if they are known. Pages at `watched` were tracked.
    pub fn written(&self, watched: &Range<usize>) -> Option<Vec<Range<usize>>> {
        let pages = DirtyPages::of_process()?;
        if self.used.start != watched.start || self.used.end < watched.end {
            return None;
        }
        let mut written = pages.take_written(watched).ok()?;
        if self.used.end > watched.end {
            pages.watch(&self.map).ok()?;
            written.extend(pages.take_written(&(watched.end..self.used.end)).ok()?);
        }
        Some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// Some pages to track. Every other one has memory.
    fn some_pages(count: usize) -> (Map, Range<usize>) {
        let map = Map::read_write(count * PAGE).unwrap();
        let range = map.base() as usize..map.base() as usize + count * PAGE;
        (0..count).step_by(2).for_each(|page| write(&map, page));
        (map, range)
    }

    fn write(map: &Map, page: usize) {
        // SAFETY: the page is the map's, which can be written.
        unsafe { map.base().add(page * PAGE + 10).write_volatile(1) };
    }

    /// The numbers of the dirty pages, which become clean.
    fn taken(map: &Map, range: &Range<usize>) -> Vec<usize> {
        let first = map.base() as usize / PAGE;
        let written = DirtyPages::of_process().unwrap().take_written(range).unwrap();
        written
            .iter()
            .flat_map(|range| range.start / PAGE..range.end / PAGE)
            .map(|page| page - first)
            .collect()
    }

    #[test]
    fn pages_that_were_written_are_told_once() {
        let Some(pages) = DirtyPages::of_process() else { return };
        let (map, range) = some_pages(2000);
        pages.watch(&range).unwrap();
        pages.take_written(&range).unwrap();
        assert_eq!(taken(&map, &range), [] as [usize; 0]);
        let chosen = [0, 1, 6, 7, 513, 1024, 1999];
        chosen.iter().for_each(|page| write(&map, *page));
        assert_eq!(taken(&map, &range), chosen);
        assert_eq!(taken(&map, &range), [] as [usize; 0]);
        // More regions than one scan returns.
        let all: Vec<usize> = (0..2000).step_by(3).collect();
        all.iter().for_each(|page| write(&map, *page));
        assert_eq!(taken(&map, &range), all);
    }

    #[test]
    fn system_calls_write_to_pages_that_are_watched() {
        let Some(pages) = DirtyPages::of_process() else { return };
        let (map, range) = some_pages(8);
        pages.watch(&range).unwrap();
        pages.take_written(&range).unwrap();
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[7; 5000]).unwrap();
        // SAFETY: the pages are the map's, and only this thread uses them.
        let place = unsafe { std::slice::from_raw_parts_mut(map.base().add(3 * PAGE), 5000) };
        reader.read_exact(place).unwrap();
        assert_eq!(taken(&map, &range), [3, 4]);
    }

    #[test]
    fn what_is_not_watched_is_an_error() {
        let Some(pages) = DirtyPages::of_process() else { return };
        let (map, range) = some_pages(8);
        pages.watch(&(range.start..range.start + 4 * PAGE)).unwrap();
        assert!(pages.take_written(&range).is_err());
        let mut to = Map::read_write(8 * PAGE).unwrap();
        let mut map = map;
        pages.watch(&range).unwrap();
        pages.take_written(&range).unwrap();
        // Moved pages are no longer tracked.
        to.take_pages(&mut map, 8 * PAGE).unwrap();
        let moved = to.base() as usize..to.base() as usize + 8 * PAGE;
        assert!(pages.take_written(&moved).is_err());
    }

    #[test]
    fn what_has_no_memory_is_not_told_until_it_is_written() {
        let Some(pages) = DirtyPages::of_process() else { return };
        let (map, range) = some_pages(8);
        pages.watch(&range).unwrap();
        assert_eq!(taken(&map, &range), [0, 2, 4, 6]);
        write(&map, 3);
        write(&map, 4);
        assert_eq!(taken(&map, &range), [3, 4]);
        // Nothing is tracked anymore.
        DirtyPages::forget(&range);
        assert!(pages.take_written(&range).is_err());
        DirtyPages::forget(&range);
        pages.watch(&range).unwrap();
        assert_eq!(taken(&map, &range), [0, 2, 3, 4, 6]);
    }

    #[test]
    fn a_process_that_is_forked_has_none() {
        if DirtyPages::of_process().is_none() {
            return;
        }
        // SAFETY: the child only reads a page, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let status = i32::from(DirtyPages::of_process().is_some());
            // SAFETY: it runs none of the parent's exit handlers.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: the status is a number of ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
    }

    #[test]
    fn more_is_watched_where_something_is_already() {
        let Some(pages) = DirtyPages::of_process() else { return };
        let (map, range) = some_pages(8);
        let half = range.start..range.start + 4 * PAGE;
        pages.watch(&half).unwrap();
        pages.take_written(&half).unwrap();
        write(&map, 2);
        write(&map, 5);
        pages.watch(&range).unwrap();
        let written = taken(&map, &range);
        assert!(
            written.contains(&2) && written.contains(&5) && !written.contains(&0),
            "{written:?}"
        );
    }
}
