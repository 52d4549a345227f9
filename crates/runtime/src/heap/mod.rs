//! The heap: objects, which a copying collector moves.
//!
//! Objects are allocated one after another in a space. When it is full, the collector copies the
//! reachable ones to another space, which becomes the current one. The old space is kept for the
//! next collection. The bounds of the free part are in the [`StoreContext`], so that generated code
//! allocates by itself.

mod no_memory;
pub(crate) mod object;
mod object_type;
mod roots;
mod shared_word;

pub(crate) use no_memory::NoMemory;
pub(crate) use object::{Object, read_storage, write_storage};
pub use object_type::{ObjectType, slot_type};
pub(crate) use roots::Roots;
pub use roots::{OwnedRoot, Root};

use crate::os::dirty_pages::Region;
use crate::os::mapping::{Map, PAGE};
use crate::os::memory_size::machine_memory;
use ropewalk_abi::{StoreContext, TrapCode, TypeInfo};
use std::any::Any;
use std::io;
use std::ops::Range;

/// Options for a heap.
#[derive(Clone, Copy, Debug)]
pub struct HeapOptions {
    /// The maximum size of all objects in bytes.
    pub maximum: usize,
    /// Whether every allocation collects, to show that the collector finds every reference.
    pub collect_always: bool,
}

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions { maximum: (machine_memory() / 4).min(4 << 30), collect_always: false }
    }
}

/// The least size of a space: it fits into a cache.
const SMALLEST_SPACE: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Heap {
    pub options: HeapOptions,
    space: Option<Space>,
    /// The space before the last collection.
    spare: Option<Space>,
    pub roots: Roots,
    pub externs: Externs,
    pub collections: u64,
    /// The size that the limiter has allowed for objects.
    pub allowed: usize,
    /// A violation that the check of stacks found during a collection.
    pub violation: Option<String>,
    /// Why there was no memory the last time, until it is reported.
    pub refusal: Option<NoMemory>,
}

#[derive(Debug)]
pub(crate) struct Space {
    map: Map,
    /// From here on the memory was never written. It is zero, and takes no physical memory. Unused
    /// memory below can have any content.
    pub clean: usize,
}

/// Values of the host, by number.
#[derive(Debug, Default)]
pub(crate) struct Externs {
    values: Vec<Option<Box<dyn Any + Send + Sync>>>,
    free: Vec<usize>,
    /// The values that the running collection has reached.
    pub reached: Vec<bool>,
    /// The values to drop once the heap is consistent again.
    dead: Vec<Box<dyn Any + Send + Sync>>,
}

impl Heap {
    pub fn new(options: HeapOptions) -> Heap {
        Heap {
            options,
            space: None,
            spare: None,
            roots: Roots::default(),
            externs: Externs::default(),
            collections: 0,
            allowed: 0,
            violation: None,
            refusal: None,
        }
    }

    pub fn allow(&mut self, bytes: usize) {
        self.allowed = self.allowed.max(bytes);
    }
}

impl Externs {
    pub fn get(&self, number: u64) -> Option<&(dyn Any + Send + Sync)> {
        self.values.get(number as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut (dyn Any + Send + Sync)> {
        self.values.get_mut(number as usize)?.as_deref_mut()
    }

    /// The number of values, including garbage.
    pub fn count(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// The values by number. Unused numbers have none.
    pub fn iter(&self) -> impl Iterator<Item = Option<&(dyn Any + Send + Sync)>> {
        self.values.iter().map(Option::as_deref)
    }

    /// Restores the value with the next number. `None` leaves the number unused.
    pub fn restore(&mut self, value: Option<Box<dyn Any + Send + Sync>>) {
        if value.is_none() {
            self.free.push(self.values.len());
        }
        self.values.push(value);
    }

    /// Takes the values that the last collection did not reach. The caller drops them.
    pub fn take_dead(&mut self) -> Vec<Box<dyn Any + Send + Sync>> {
        std::mem::take(&mut self.dead)
    }

    /// Makes room for one more value, and for every number that becomes unused.
    pub fn make_room(&mut self) -> Result<(), TrapCode> {
        let missing = (self.values.len() + 1).saturating_sub(self.free.len());
        let free = self.free.try_reserve(missing);
        free.and_then(|()| self.values.try_reserve(1)).map_err(|_| TrapCode::OutOfMemory)
    }

    /// Makes room for the results of a collection.
    pub fn make_room_to_sweep(&mut self) -> Result<(), TrapCode> {
        let count = self.values.len();
        let reached = self.reached.try_reserve(count);
        let dead = reached.and_then(|()| self.dead.try_reserve(count - self.free.len()));
        dead.map_err(|_| TrapCode::OutOfMemory)
    }

    /// Adds a value for which there is [room](Self::make_room). Returns its number.
    pub fn add(&mut self, value: Box<dyn Any + Send + Sync>) -> u64 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[number] = Some(value);
        number as u64
    }

    /// Removes the values that the collection did not reach. They are dropped later, because their
    /// `drop` is the embedder's code.
    pub fn sweep(&mut self) {
        for (number, value) in self.values.iter_mut().enumerate() {
            let reached = self.reached.get(number).is_some_and(|reached| *reached);
            if value.is_some() && !reached {
                self.dead.extend(value.take());
                self.free.push(number);
            }
        }
        self.reached.clear();
    }
}

impl Heap {
    /// Whether a collection comes before an object of this size.
    pub fn must_collect(&self, context: &StoreContext, size: usize) -> bool {
        self.options.collect_always || !has_room(context, size)
    }

    pub fn create(
        &mut self,
        context: &mut StoreContext,
        ty: *const TypeInfo,
        size: usize,
    ) -> Object {
        debug_assert!(has_room(context, size));
        let place = context.heap_next;
        context.heap_next += size;
        if self.options.collect_always {
            // Then generated code never finds room, and calls the runtime.
            context.heap_end = 0;
        }
        let clean = self.space.as_ref().map_or(usize::MAX, |space| space.clean);
        // SAFETY: the place is in the space and unused. From `clean` on it is zero.
        unsafe { Object::create(place, ty, size, clean) }
    }

    pub fn objects(&self, context: &StoreContext) -> Range<u64> {
        let space = self.space.as_ref();
        space.map_or(0..0, |space| space.base() as u64..context.heap_next as u64)
    }

    /// The size of the objects, including garbage.
    pub fn used(&self, context: &StoreContext) -> usize {
        self.space.as_ref().map_or(0, |space| context.heap_next - space.base())
    }

    /// The mapping of the objects, and the part of it that is in use.
    pub fn region(&self, context: &StoreContext) -> Option<Region> {
        let space = self.space.as_ref()?;
        let Range { start, end } = self.objects(context);
        Some(Region::new(space.map.addresses(), start as usize..end as usize))
    }

    /// Replaces the objects by room for those of a snapshot. Returns the address at which they must
    /// be.
    pub fn restore_space(&mut self, context: &mut StoreContext, len: usize) -> anyhow::Result<u64> {
        let maximum = self.options.maximum;
        anyhow::ensure!(len <= maximum, "the heap may have at most {maximum} bytes, not {len}");
        let room = room_for(len).min(maximum.max(len)).next_multiple_of(PAGE);
        let space = Space::new(room)?;
        let base = space.base();
        self.space = Some(space);
        self.allowed = self.allowed.max(room);
        (context.heap_next, context.heap_end) = (base + len, base + room);
        Ok(base as u64)
    }

    /// Copies the objects of a snapshot into that room.
    pub fn fill_space(&mut self, context: &mut StoreContext, bytes: &[u8]) {
        let base = context.heap_next - bytes.len();
        // SAFETY: the space has this room, which is unused.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base as *mut u8, bytes.len()) };
        if let Some(space) = &mut self.space {
            space.clean = space.clean.max(base + bytes.len());
        }
        if self.options.collect_always {
            context.heap_end = 0;
        }
    }
}

fn has_room(context: &StoreContext, size: usize) -> bool {
    context.heap_end.checked_sub(context.heap_next).is_some_and(|room| room >= size)
}

/// The size of a space with this many live bytes. Live objects are copied by every collection. So
/// the space has three times as much room for new objects, whose allocation pays for the copies.
pub(crate) fn room_for(live: usize) -> usize {
    (live * 4).max(SMALLEST_SPACE)
}

impl Heap {
    pub fn take_space(&mut self, len: usize) -> Result<Space, TrapCode> {
        match self.spare.take() {
            Some(spare) if spare.map.len() >= len => Ok(spare),
            _ => Space::new(len.next_multiple_of(PAGE))
                .map_err(|_| self.refuse(NoMemory::Machine(len))),
        }
    }

    /// Makes a space the current one. Keeps the old one, whose first `used` bytes were written, for
    /// the next collection.
    pub fn replace_space(&mut self, space: Space, used: usize) {
        let mut old = self.space.replace(space);
        if let Some(old) = &mut old {
            old.clean = old.clean.max(old.base() + used);
        }
        // In this stress mode the old space is unmapped, so that a stale reference faults.
        self.spare = old.filter(|_| !self.options.collect_always);
        self.collections += 1;
    }
}

impl Space {
    fn new(len: usize) -> io::Result<Space> {
        let map = Map::read_write(len)?;
        Ok(Space { clean: map.base() as usize, map })
    }

    pub fn base(&self) -> usize {
        self.map.base() as usize
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }
}
