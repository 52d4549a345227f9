//! Linear memories.
//!
//! A 32-bit memory reserves all address space that an index can reach, and a guard, so it grows in
//! place. A 64-bit memory reserves some room to grow, moves when that is used up, and has its guard
//! in the rest of the reservation. A 32-bit memory does the same if address space is short or
//! limited. Then only code that compares each index with the length may use it.

use crate::code::memory_image::MemoryImage;
use crate::os::limits;
use crate::os::mapping::Map;
use ropewalk_abi::{MEMORY_GUARD, MEMORY32_RESERVATION, MemoryDef, MemoryType};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The extra address space that a 64-bit memory reserves.
const MEMORY64_ROOM: u64 = 1 << 30;

/// The least extra address space of a 32-bit memory that cannot reserve everything.
const SMALL_ROOM: u64 = 1 << 20;

/// More than the address space of a process.
const ADDRESS_SPACE: u64 = 1 << 46;

#[derive(Debug)]
/// A linear memory.
pub struct Memory {
    /// The record for generated code, inside an instance or in `own_def`.
    def: NonNull<MemoryDef>,
    /// The record of a memory that belongs to no instance.
    _own_def: Option<Box<MemoryDef>>,
    /// None only during `drop`.
    map: Option<Map>,
    ty: MemoryType,
    /// Set if it reserves all that an index can reach: it never moves, and accesses need no checks.
    whole: Option<Counted>,
    /// The length, also when the instance with the record is gone.
    len: usize,
    /// The part to which an [image](crate::code::memory_image) is mapped.
    image: Range<usize>,
    /// Where its address space is returned to.
    pool: Arc<MemoryPool>,
}

// SAFETY: a memory is used only together with its store.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Why a memory cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot allocate a memory of {pages} pages: {reason}")]
pub struct MemoryError {
    pages: u64,
    reason: String,
}

/// Why the memories and tables of a store cannot take more bytes.
pub(super) fn beyond_total(limit: u64) -> String {
    format!(
        "the memories and tables of a store may have at most {limit} bytes in total \
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
    /// Makes a memory with its record at `def`. If it `may_be_small`, it may reserve less.
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
        // SAFETY: the caller's promise.
        unsafe { def.write(MemoryDef { base: map.base(), len: len as usize }) };
        let len = len as usize;
        let pool = pool.clone();
        let map = Some(map);
        Ok(Memory { def, _own_def: None, map, ty, whole, len, image: 0..0, pool })
    }

    /// Makes a memory that belongs to no instance.
    pub(crate) fn standalone(
        ty: MemoryType,
        pool: &Arc<MemoryPool>,
    ) -> Result<Memory, MemoryError> {
        let mut own = Box::new(MemoryDef::EMPTY);
        // SAFETY: the memory owns the boxed record.
        let mut memory = unsafe { Memory::new(ty, NonNull::from(&mut *own), pool, true) }?;
        memory._own_def = Some(own);
        Ok(memory)
    }

    /// Whether code can use it that does not compare indices with the length.
    pub(crate) fn needs_no_checks(&self) -> bool {
        self.whole.is_some() || self.ty.memory64
    }

    /// The record for generated code.
    pub fn def(&self) -> NonNull<MemoryDef> {
        self.def
    }

    fn current(&self) -> MemoryDef {
        // SAFETY: the record is valid as long as the memory.
        unsafe { self.def.read() }
    }

    /// The type, with the current size as the minimum.
    pub fn ty(&self) -> MemoryType {
        MemoryType { minimum: self.size(), ..self.ty }
    }

    /// The size in pages.
    pub fn size(&self) -> u64 {
        self.current().len as u64 / MemoryType::PAGE_SIZE
    }

    /// The size in pages, also when the instance with the record is gone.
    pub(crate) fn pages(&self) -> u64 {
        self.len as u64 / MemoryType::PAGE_SIZE
    }

    /// The contents.
    pub fn data(&self) -> &[u8] {
        let MemoryDef { base, len } = self.current();
        // SAFETY: the record always says where the memory is and how much of it is accessible, even
        // after a failed growth. Writing these bytes requires borrowing the store.
        unsafe { std::slice::from_raw_parts(base, len) }
    }

    /// The start and the length of the addresses that accesses can compute.
    pub(crate) fn reserved(&self) -> (usize, usize) {
        (self.map().base() as usize, self.map().len())
    }

    /// The contents, mutably.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let MemoryDef { base, len } = self.current();
        // SAFETY: as in `data`, and the store is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(base, len) }
    }

    /// Maps an image as the initial contents. Returns whether that was possible.
    pub(crate) fn map_image(&mut self, image: &MemoryImage) -> bool {
        let fits = self.whole.is_some() && image.place.end <= self.current().len;
        let is_mapped =
            fits && self.map().map_file(&image.place, &image.file, image.offset).is_ok();
        if is_mapped {
            self.image = image.place.clone();
        }
        is_mapped
    }

    /// Grows the memory; returns the old size in pages.
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

    /// Moves the memory to a larger reservation.
    fn relocate(&mut self, old_len: usize, new_len: u64) -> Option<()> {
        let room = new_len.saturating_add(new_len / 2);
        let reserve = |len| self.pool.reserve(&self.ty, len, self.whole.is_some());
        let mut map = reserve(room).or_else(|_| reserve(new_len)).ok()?;
        let old = self.map.as_mut().expect("there until it is dropped");
        map.take_pages(old, old_len).ok()?;
        let base = map.base();
        self.map = Some(map);
        // The memory has moved, whether or not it can grow there.
        // SAFETY: the record is valid as long as the memory.
        unsafe { self.def.write(MemoryDef { base, len: old_len }) };
        Some(())
    }

    /// Whether an access may fault at an address: in the reservation, beyond the end.
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

/// Reservations of dropped 32-bit memories, for reuse: clearing a small memory is faster than
/// reserving address space and touching its pages for the first time.
#[derive(Debug)]
pub struct MemoryPool {
    free: Mutex<Free>,
    /// The maximum bytes of a memory.
    limit: u64,
    /// The address space of a 32-bit memory without its guard, or its length if that is more.
    reservation: u64,
}

/// A reservation of all that an index can reach; counts itself while it exists.
#[derive(Debug)]
struct Counted;

/// The number of such reservations in this process.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// From this many on, memories reserve less if they may: these take half of the address space.
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

/// A reservation whose first `open` bytes are accessible and zero.
#[derive(Debug)]
struct Pooled {
    map: Map,
    whole: Counted,
    open: usize,
}

/// The unused reservations, and their weight.
#[derive(Debug, Default)]
struct Free {
    reservations: Vec<Pooled>,
    bytes: usize,
}

impl Free {
    /// Takes one, preferably with this many accessible bytes.
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
    /// The accessible bytes, at least a page of WebAssembly.
    fn weight(&self) -> usize {
        self.open.max(MemoryType::PAGE_SIZE as usize)
    }
}

/// The maximum weight of all unused reservations.
const KEEP: usize = 16 << 20;
/// The maximum length of a kept memory, which is cleared by writing zeroes.
const KEEP_LEN: usize = 256 << 10;

impl MemoryPool {
    /// An empty pool for memories of at most `limit` bytes.
    pub fn new(limit: u64, reservation: u64) -> MemoryPool {
        MemoryPool { free: Mutex::default(), limit, reservation }
    }

    /// Whether a memory reserves all that an index can reach.
    fn is_whole(&self, ty: &MemoryType) -> bool {
        !ty.memory64 && self.reservation >= MEMORY32_RESERVATION
    }

    /// Reserves this many memories of full size in advance. Returns whether there is space.
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

    /// The address space that a memory of this length reserves.
    fn reservation(&self, ty: &MemoryType, len: u64, is_whole: bool) -> usize {
        let reservation = match is_whole {
            true => MEMORY32_RESERVATION,
            false => {
                let limit = ty.maximum.unwrap_or(u64::MAX).min(ty.address_limit());
                let maximum = limit.saturating_mul(MemoryType::PAGE_SIZE);
                let room = match ty.memory64 {
                    false if self.reservation < MEMORY32_RESERVATION => self.reservation.max(len),
                    // There was no address space for more.
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
        self.free.lock().expect("the lock is never poisoned")
    }

    /// Keeps a reservation if the pool has room for it.
    fn put(&self, map: Map, whole: Counted, len: usize, image: &Range<usize>) {
        if len > KEEP_LEN || self.free().bytes >= KEEP {
            return;
        }
        if !image.is_empty() && map.map_zeroes(image).is_err() {
            return;
        }
        for part in [0..image.start, image.end..len] {
            // SAFETY: this many bytes are accessible, and the memory is gone.
            unsafe { std::ptr::write_bytes(map.base().add(part.start), 0, part.len()) };
        }
        self.free().put(Pooled { map, whole, open: len });
    }
}
