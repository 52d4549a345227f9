//! The heap: objects that a copying collector moves.
//!
//! Objects are allocated one after another in a space. When it is full, those
//! that can still be reached are copied to another space, which becomes the
//! one to allocate in; the old one is kept for the next time. The bounds of
//! the free part are in the [`StoreContext`](ropewalk_abi::StoreContext), so
//! that generated code allocates by itself.

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

/// How a heap behaves.
#[derive(Clone, Copy, Debug)]
pub struct HeapOptions {
    /// How many bytes of objects there may be.
    pub maximum: usize,
    /// Whether to collect at every allocation, to show that every reference is
    /// known.
    pub collect_always: bool,
}

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions { maximum: (machine_memory() / 4).min(4 << 30), collect_always: false }
    }
}

/// The least size of a space: what fits into a cache.
const SMALLEST_SPACE: usize = 1 << 20;

/// The heap of a store.
#[derive(Debug)]
pub(crate) struct Heap {
    options: HeapOptions,
    space: Option<Space>,
    /// The space before the last collection.
    spare: Option<Space>,
    pub roots: Roots,
    pub externs: Externs,
    collections: u64,
    /// How many bytes objects may take, as far as somebody was asked.
    allowed: usize,
    /// What a check has found wrong while it collected.
    pub violation: Option<String>,
    /// Why there was no memory the last time, until somebody has said so.
    pub refusal: Option<NoMemory>,
}

/// Memory for objects.
#[derive(Debug)]
pub(crate) struct Space {
    map: Map,
    /// Where the memory begins that was never written, so that it is zero, and
    /// takes no memory of the machine. Up to here there may be anything, if it
    /// is not in use.
    pub clean: usize,
}

/// Values of the host, by number.
#[derive(Debug, Default)]
pub(crate) struct Externs {
    values: Vec<Option<Box<dyn Any + Send + Sync>>>,
    free: Vec<usize>,
    /// Which of them the running collection has reached.
    pub reached: Vec<bool>,
    /// Those that it has not, until the heap is whole again.
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

    /// The value with a number.
    pub fn extern_value(&self, number: u64) -> Option<&(dyn Any + Send + Sync)> {
        self.externs.values.get(number as usize)?.as_deref()
    }

    /// How many numbers of values there are, with those that nobody has.
    pub fn extern_count(&self) -> usize {
        self.externs.values.len()
    }

    /// Keeps a value, or none, under the next number.
    pub fn restore_extern(&mut self, value: Option<Box<dyn Any + Send + Sync>>) {
        if value.is_none() {
            self.externs.free.push(self.externs.values.len());
        }
        self.externs.values.push(value);
    }

    /// Makes room for one value more.
    pub fn make_room_for_extern(&mut self) -> Result<(), TrapCode> {
        self.externs.make_room()
    }

    /// Keeps a value for which there is room.
    pub fn add_extern(&mut self, value: Box<dyn Any + Send + Sync>) -> u64 {
        self.externs.add(value)
    }

    /// Makes room for so many references that a collection follows.
    pub fn make_room_for_roots(&mut self, count: usize) -> Result<(), TrapCode> {
        match self.roots.make_room(count) {
            true => Ok(()),
            false => Err(TrapCode::OutOfMemory),
        }
    }

    pub fn collections(&self) -> u64 {
        self.collections
    }

    /// How many bytes objects may take at most.
    pub fn maximum(&self) -> usize {
        self.options.maximum
    }

    /// How many bytes objects may take, as far as the limiter was asked.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// The limiter allows objects to take this many bytes.
    pub fn allow(&mut self, bytes: usize) {
        self.allowed = self.allowed.max(bytes);
    }

    /// The host values that the last collection has not reached.
    pub fn take_dead(&mut self) -> Vec<Box<dyn Any + Send + Sync>> {
        std::mem::take(&mut self.externs.dead)
    }

    /// How many values of the host there are, with garbage.
    pub fn host_values(&self) -> usize {
        self.externs.values.len() - self.externs.free.len()
    }
}

impl Externs {
    /// Makes room for one value more, and for the number of each that is given up.
    fn make_room(&mut self) -> Result<(), TrapCode> {
        let missing = (self.values.len() + 1).saturating_sub(self.free.len());
        let free = self.free.try_reserve(missing);
        free.and_then(|()| self.values.try_reserve(1)).map_err(|_| TrapCode::OutOfMemory)
    }

    /// Makes room for what a collection notes of the values.
    pub fn make_room_to_sweep(&mut self) -> Result<(), TrapCode> {
        let count = self.values.len();
        let reached = self.reached.try_reserve(count);
        let dead = reached.and_then(|()| self.dead.try_reserve(count - self.free.len()));
        dead.map_err(|_| TrapCode::OutOfMemory)
    }

    fn add(&mut self, value: Box<dyn Any + Send + Sync>) -> u64 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[number] = Some(value);
        number as u64
    }

    /// Takes out the values that the collection has not reached. They are
    /// dropped later: their `drop` is code of the embedder's.
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
    /// Whether a collection comes before an object of a size.
    pub fn must_collect(&self, context: &StoreContext, size: usize) -> bool {
        self.options.collect_always || !has_room(context, size)
    }

    /// Makes an object for which there is room.
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
            // Generated code never has room, so it always asks.
            context.heap_end = 0;
        }
        let clean = self.space.as_ref().map_or(usize::MAX, |space| space.clean);
        // SAFETY: the place lies in the space and was free; from `clean` on it is
        // zero.
        unsafe { Object::create(place, ty, size, clean) }
    }

    /// Where the objects lie.
    pub fn objects(&self, context: &StoreContext) -> Range<u64> {
        let space = self.space.as_ref();
        space.map_or(0..0, |space| space.base() as u64..context.heap_next as u64)
    }

    /// How many bytes the objects take, with garbage.
    pub fn used(&self, context: &StoreContext) -> usize {
        self.space.as_ref().map_or(0, |space| context.heap_next - space.base())
    }

    /// The mapping of the objects and the part of it that is in use.
    pub fn region(&self, context: &StoreContext) -> Option<Region> {
        let space = self.space.as_ref()?;
        let Range { start, end } = self.objects(context);
        Some(Region::new(space.map.addresses(), start as usize..end as usize))
    }

    /// Makes room for the objects of a snapshot in the place of all that there are; returns
    /// where they must be written.
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

    /// Writes the objects of a snapshot there.
    pub fn fill_space(&mut self, context: &mut StoreContext, bytes: &[u8]) {
        let base = context.heap_next - bytes.len();
        // SAFETY: there is as much room, which nobody uses yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base as *mut u8, bytes.len()) };
        if let Some(space) = &mut self.space {
            space.clean = space.clean.max(base + bytes.len());
        }
        if self.options.collect_always {
            context.heap_end = 0;
        }
    }
}

/// Whether there is room for an object of a size without a collection.
fn has_room(context: &StoreContext, size: usize) -> bool {
    context.heap_end.checked_sub(context.heap_next).is_some_and(|room| room >= size)
}

/// How large a space should be for this many bytes of live objects. They are
/// copied again and again, so there is three times as much room for others,
/// whose allocation pays for the copy.
pub(crate) fn room_for(live: usize) -> usize {
    (live * 4).max(SMALLEST_SPACE)
}

impl Heap {
    /// A space of at least this many bytes to copy to.
    pub fn take_space(&mut self, len: usize) -> Result<Space, TrapCode> {
        match self.spare.take() {
            Some(spare) if spare.map.len() >= len => Ok(spare),
            _ => Space::new(len.next_multiple_of(PAGE))
                .map_err(|_| self.refuse(NoMemory::Machine(len))),
        }
    }

    /// Makes a space the current one, and keeps the old one, of which this many
    /// bytes were used, for the next time.
    pub fn replace_space(&mut self, space: Space, used: usize) {
        let mut old = self.space.replace(space);
        if let Some(old) = &mut old {
            old.clean = old.clean.max(old.base() + used);
        }
        // In the stress mode, a forgotten reference to the old space faults.
        self.spare = old.filter(|_| !self.options.collect_always);
        self.collections += 1;
    }
}

impl Space {
    fn new(len: usize) -> io::Result<Space> {
        let map = Map::read_write(len)?;
        Ok(Space { clean: map.base() as usize, map })
    }

    /// Where it begins.
    pub fn base(&self) -> usize {
        self.map.base() as usize
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.map.len()
    }
}
