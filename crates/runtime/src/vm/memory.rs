//! Linear memories.
//!
//! A 32-bit memory reserves all the address space that an index can reach, and
//! a guard; growing only makes more of it accessible. A 64-bit memory reserves
//! some room to grow and moves when that is used up; the guard is what of the
//! reservation lies after its end. So does a 32-bit one in an engine whose memories
//! reserve less, and one for which there is no address space: only code that compares
//! each index with the length may use that.

use crate::code::memory_image::MemoryImage;
use crate::os::limits;
use crate::os::mapping::Map;
use ropewalk_abi::{MEMORY_GUARD, MEMORY32_RESERVATION, MemoryDef, MemoryType};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// How much more address space than it needs a 64-bit memory reserves.
const MEMORY64_ROOM: u64 = 1 << 30;

/// How much a 32-bit memory reserves at least when there is no address space for all of it.
const SMALL_ROOM: u64 = 1 << 20;

/// No memory can be this large: a process has less address space.
const ADDRESS_SPACE: u64 = 1 << 46;

/// A memory.
#[derive(Debug)]
pub struct Memory {
    /// What generated code sees, inside an instance or in `own_def`.
    def: NonNull<MemoryDef>,
    /// The record of a memory that belongs to no instance.
    _own_def: Option<Box<MemoryDef>>,
    /// None only while it is dropped.
    map: Option<Map>,
    ty: MemoryType,
    /// If it reserves all that an index can reach, so that it never moves and accesses need
    /// no checks.
    whole: Option<Counted>,
    /// Its length, also when the instance with its record is gone.
    len: usize,
    /// The part of it that an [image](crate::code::memory_image) is mapped to.
    image: Range<usize>,
    /// Where its address space goes afterwards.
    pool: Arc<MemoryPool>,
}

// SAFETY: a memory is used only together with the store that owns it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Why there is no memory.
#[derive(Debug, thiserror::Error)]
#[error("cannot allocate a memory of {pages} pages: {reason}")]
pub struct MemoryError {
    pages: u64,
    reason: String,
}

/// Why the memories and tables of a store cannot take more bytes.
pub(super) fn beyond_total(limit: u64) -> String {
    format!(
        "the memories and tables of a store may have {limit} bytes in total \
         (Config::max_total_memory)"
    )
}

impl MemoryError {
    /// The memories and tables of the store would exceed their common limit in bytes.
    pub(crate) fn beyond_total(pages: u64, limit: u64) -> MemoryError {
        MemoryError { pages, reason: beyond_total(limit) }
    }

    /// A module imports a memory that its code cannot use.
    pub(crate) fn unchecked(pages: u64) -> MemoryError {
        let reason = "there is not enough address space for the memory that the module imports, \
                      and it cannot be compiled again to use less (Config::memory_reservation)";
        MemoryError { pages, reason: reason.to_string() }
    }
}

impl Memory {
    /// A new memory whose record is at `def`. If there is no address space for all that an
    /// index can reach, it reserves less, if it may.
    ///
    /// # Safety
    ///
    /// `def` must stay valid as long as the memory.
    pub(crate) unsafe fn new(
        ty: MemoryType,
        def: NonNull<MemoryDef>,
        pool: &Arc<MemoryPool>,
        may_be_small: bool,
    ) -> Result<Memory, MemoryError> {
        let failed = |reason: String| MemoryError { pages: ty.minimum, reason };
        let len = ty
            .minimum
            .checked_mul(MemoryType::PAGE_SIZE)
            .filter(|len| *len < ADDRESS_SPACE)
            .ok_or_else(|| failed("it exceeds the address space".to_string()))?;
        if len > pool.limit {
            return Err(failed(format!(
                "a memory may have at most {} bytes (Config::max_memory)",
                pool.limit
            )));
        }
        let mut is_whole = pool.is_whole(&ty) && !(may_be_small && Counted::are_many());
        let mut taken = pool.take(&ty, len as usize, is_whole);
        if taken.is_err() && is_whole && may_be_small {
            is_whole = false;
            taken = pool.take(&ty, len as usize, is_whole);
        }
        let size = pool.reservation(&ty, len, is_whole);
        let explain = |error| failed(limits::explain(error, size).to_string());
        let (map, whole) = taken.map_err(explain)?;
        // SAFETY: the caller says that `def` is valid.
        unsafe { def.write(MemoryDef { base: map.base(), len: len as usize }) };
        let len = len as usize;
        let pool = pool.clone();
        let map = Some(map);
        Ok(Memory { def, _own_def: None, map, ty, whole, len, image: 0..0, pool })
    }

    /// A new memory that belongs to no instance.
    pub(crate) fn standalone(
        ty: MemoryType,
        pool: &Arc<MemoryPool>,
    ) -> Result<Memory, MemoryError> {
        let mut own = Box::new(MemoryDef::EMPTY);
        // SAFETY: the record is on the heap, and the memory owns it.
        let mut memory = unsafe { Memory::new(ty, NonNull::from(&mut *own), pool, true) }?;
        memory._own_def = Some(own);
        Ok(memory)
    }

    /// Whether code that compares no index with its length can use it.
    pub(crate) fn needs_no_checks(&self) -> bool {
        self.whole.is_some() || self.ty.memory64
    }

    /// Its record.
    pub fn def(&self) -> NonNull<MemoryDef> {
        self.def
    }

    fn current(&self) -> MemoryDef {
        // SAFETY: the record is valid as long as the memory.
        unsafe { self.def.read() }
    }

    /// Its type, with the present size as the minimum.
    pub fn ty(&self) -> MemoryType {
        MemoryType { minimum: self.size(), ..self.ty }
    }

    /// Its size in pages.
    pub fn size(&self) -> u64 {
        self.current().len as u64 / MemoryType::PAGE_SIZE
    }

    /// How many pages it had, also when the instance with its record is gone.
    pub(crate) fn pages(&self) -> u64 {
        self.len as u64 / MemoryType::PAGE_SIZE
    }

    /// Its bytes.
    pub fn data(&self) -> &[u8] {
        let MemoryDef { base, len } = self.current();
        // SAFETY: the record always says where the memory is, and how much of it is
        // accessible, also where it could not grow; whoever could write these bytes
        // has the store borrowed.
        unsafe { std::slice::from_raw_parts(base, len) }
    }

    /// Where the addresses are that accesses can compute: where they begin, and how many.
    pub(crate) fn reserved(&self) -> (usize, usize) {
        (self.map().base() as usize, self.map().len())
    }

    /// Its bytes, to change them.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let MemoryDef { base, len } = self.current();
        // SAFETY: as in `data`, and the store is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(base, len) }
    }

    /// Lets it begin with an image, instead of zeroes. Returns whether it does.
    pub(crate) fn map_image(&mut self, image: &MemoryImage) -> bool {
        let fits = self.whole.is_some() && image.place.end <= self.current().len;
        let is_mapped =
            fits && self.map().map_file(&image.place, &image.file, image.offset).is_ok();
        if is_mapped {
            self.image = image.place.clone();
        }
        is_mapped
    }

    /// Grows it; returns the old size in pages.
    pub fn grow(&mut self, delta: u64) -> Option<u64> {
        let old = self.size();
        let new = old.checked_add(delta)?;
        let maximum = self.ty.maximum.unwrap_or(u64::MAX).min(self.ty.address_limit());
        if new > maximum {
            return None;
        }
        let limit = self.pool.limit.min(ADDRESS_SPACE - 1);
        let new_len = new.checked_mul(MemoryType::PAGE_SIZE).filter(|len| *len <= limit)?;
        let new_len = new_len as usize;
        let old_len = self.current().len;
        if new_len as u64 + MEMORY_GUARD > self.map().len() as u64 {
            self.relocate(old_len, new_len as u64)?;
        }
        self.map().open(old_len, new_len - old_len).ok()?;
        let base = self.map().base();
        // SAFETY: the record is valid as long as the memory.
        unsafe { self.def.write(MemoryDef { base, len: new_len }) };
        self.len = new_len;
        Some(old)
    }

    /// Gives a memory that does not reserve all it can ever have a larger reservation.
    fn relocate(&mut self, old_len: usize, new_len: u64) -> Option<()> {
        let room = new_len.saturating_add(new_len / 2);
        let reserve = |len| self.pool.reserve(&self.ty, len, self.whole.is_some());
        let mut map = reserve(room).or_else(|_| reserve(new_len)).ok()?;
        let old = self.map.as_mut().expect("there until it is dropped");
        map.take_pages(old, old_len).ok()?;
        let base = map.base();
        self.map = Some(map);
        // It is somewhere else by now, whether or not it can grow there.
        // SAFETY: the record is valid as long as the memory.
        unsafe { self.def.write(MemoryDef { base, len: old_len }) };
        Some(())
    }

    /// Whether an access of this memory may fault at an address: after its end,
    /// and before that of its reservation.
    pub(crate) fn may_fault_at(&self, address: usize) -> bool {
        let base = self.map().base() as usize;
        (base + self.current().len..base + self.map().len()).contains(&address)
    }

    fn map(&self) -> &Map {
        self.map.as_ref().expect("there until it is dropped")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let (Some(map), Some(whole)) = (self.map.take(), self.whole.take()) {
            self.pool.put(map, whole, self.len, &self.image);
        }
    }
}

/// Address space for 32-bit memories that stores have given up: reserving it
/// again, and having its pages touched for the first time again, would take
/// longer than to clear it.
#[derive(Debug)]
pub struct MemoryPool {
    free: Mutex<Free>,
    /// How many bytes a memory may have.
    limit: u64,
    /// How many bytes of address space a 32-bit memory takes before its guard, or its
    /// length if that is more.
    reservation: u64,
}

/// A reservation of all that an index can reach, which is counted while it is there.
#[derive(Debug)]
struct Counted;

/// How many there are in this process.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// From how many on memories reserve less, if they may: they take half of the address
/// space then.
const MANY: usize = 1 << 14;

impl Counted {
    fn new() -> Counted {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Counted
    }

    fn are_many() -> bool {
        COUNT.load(Ordering::Relaxed) >= MANY
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reservation of which this many bytes are accessible, and zero.
#[derive(Debug)]
struct Pooled {
    map: Map,
    whole: Counted,
    open: usize,
}

/// The reservations that no memory has, and how many bytes they count for.
#[derive(Debug, Default)]
struct Free {
    reservations: Vec<Pooled>,
    bytes: usize,
}

impl Free {
    /// One for a memory of a length, if there is any: best one that is open so far.
    fn take(&mut self, len: usize) -> Option<Pooled> {
        let fits = self.reservations.iter().rposition(|pooled| pooled.open == len);
        let last = self.reservations.len().checked_sub(1)?;
        let taken = self.reservations.swap_remove(fits.unwrap_or(last));
        self.bytes -= taken.weight();
        Some(taken)
    }

    fn put(&mut self, pooled: Pooled) {
        self.bytes += pooled.weight();
        self.reservations.push(pooled);
    }
}

impl Pooled {
    /// How many bytes it counts for, at least a page of WebAssembly's.
    fn weight(&self) -> usize {
        self.open.max(MemoryType::PAGE_SIZE as usize)
    }
}

/// How many bytes the memories that are kept may have together.
const KEEP: usize = 16 << 20;
/// How many bytes one of them may have. It is cleared by writing to it.
const KEEP_LEN: usize = 256 << 10;

impl MemoryPool {
    /// A pool that has nothing yet, for memories of at most this many bytes, of which
    /// those with 32-bit addresses reserve so many.
    pub fn new(limit: u64, reservation: u64) -> MemoryPool {
        MemoryPool { free: Mutex::default(), limit, reservation }
    }

    /// Whether a memory reserves all that an index can reach.
    fn is_whole(&self, ty: &MemoryType) -> bool {
        !ty.memory64 && self.reservation >= MEMORY32_RESERVATION
    }

    /// Whether there is address space for so many memories that reserve all that an index
    /// can reach. It is there for the next ones.
    pub fn has_space(&self, count: usize) -> bool {
        let mut free = self.free();
        while free.reservations.len() < count {
            let size = (MEMORY32_RESERVATION + MEMORY_GUARD) as usize;
            match Map::reserve(size) {
                Ok(map) if !Counted::are_many() => {
                    free.put(Pooled { map, whole: Counted::new(), open: 0 });
                }
                _ => return false,
            }
        }
        true
    }

    fn reserve(&self, ty: &MemoryType, len: u64, is_whole: bool) -> io::Result<Map> {
        Map::reserve(self.reservation(ty, len, is_whole))
    }

    /// How many bytes of address space a memory of this length reserves.
    fn reservation(&self, ty: &MemoryType, len: u64, is_whole: bool) -> usize {
        let reservation = match is_whole {
            true => MEMORY32_RESERVATION,
            false => {
                let limit = ty.maximum.unwrap_or(u64::MAX).min(ty.address_limit());
                let maximum = limit.saturating_mul(MemoryType::PAGE_SIZE);
                let room = match ty.memory64 {
                    false if self.reservation < MEMORY32_RESERVATION => self.reservation.max(len),
                    // There was no space for more.
                    false => len.saturating_add(len / 2).max(SMALL_ROOM),
                    true => len.saturating_add(MEMORY64_ROOM),
                };
                room.min(maximum.max(len))
            }
        };
        let total = reservation.saturating_add(MEMORY_GUARD);
        usize::try_from(total).unwrap_or(usize::MAX)
    }

    /// A reservation for a memory, accessible up to its length.
    fn take(
        &self,
        ty: &MemoryType,
        len: usize,
        is_whole: bool,
    ) -> io::Result<(Map, Option<Counted>)> {
        let pooled = match is_whole {
            true => self.free().take(len),
            false => None,
        };
        let (map, whole, open) = match pooled {
            Some(Pooled { map, whole, open }) => (map, Some(whole), open),
            None => {
                let map = self.reserve(ty, len as u64, is_whole)?;
                (map, is_whole.then(Counted::new), 0)
            }
        };
        if len > open {
            map.open(open, len - open)?;
        } else {
            map.close(len, open - len)?;
        }
        Ok((map, whole))
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().expect("nobody panics with it")
    }

    /// Keeps the whole reservation of a memory, if there is room for it.
    fn put(&self, map: Map, whole: Counted, len: usize, image: &Range<usize>) {
        if len > KEEP_LEN || self.free().bytes >= KEEP {
            return;
        }
        if !image.is_empty() && map.map_zeroes(image).is_err() {
            return;
        }
        for part in [0..image.start, image.end..len] {
            // SAFETY: this many bytes are accessible, and nobody uses them any more.
            unsafe { std::ptr::write_bytes(map.base().add(part.start), 0, part.len()) };
        }
        self.free().put(Pooled { map, whole, open: len });
    }
}
