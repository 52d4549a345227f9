//! The heap: objects that a copying collector moves.
//!
//! Objects are allocated one after another in a space. When it is full, those
//! that can still be reached are copied to another space, which becomes the
//! one to allocate in; the old one is kept for the next time. The bounds of
//! the free part are in the [`StoreContext`](ropewalk_abi::StoreContext), so
//! that generated code allocates by itself.

mod access;
mod collect;
mod no_memory;
mod object;
mod roots;
mod shared_word;

pub use access::{ObjectType, slot_type};
pub(crate) use no_memory::NoMemory;
pub(crate) use object::{Object, write_storage};
pub(crate) use roots::Roots;
pub use roots::{OwnedRoot, Root};

use crate::limiter::{Decision, Growth};
use crate::machine_memory::machine_memory;
use crate::map::{Map, PAGE};
use crate::snapshot::Region;
use crate::stack::Park;
use crate::store::Store;
use ropewalk_abi::{TrapCode, TypeInfo};
use std::any::Any;
use std::io;
use std::ops::Range;
use std::time::Instant;

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
    externs: Externs,
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
struct Space {
    map: Map,
    /// Where the memory begins that was never written, so that it is zero, and
    /// takes no memory of the machine. Up to here there may be anything, if it
    /// is not in use.
    clean: usize,
}

/// Values of the host, by number.
#[derive(Debug, Default)]
struct Externs {
    values: Vec<Option<Box<dyn Any + Send + Sync>>>,
    free: Vec<usize>,
    /// Which of them the running collection has reached.
    reached: Vec<bool>,
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
    fn make_room_to_sweep(&mut self) -> Result<(), TrapCode> {
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
    fn sweep(&mut self) {
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

impl Store {
    /// Makes room for an object of a type, collecting if need be. Everything
    /// but the header is zero.
    pub(crate) fn allocate(&mut self, ty: *const TypeInfo, size: u64) -> Result<Object, TrapCode> {
        let maximum = self.heap.options.maximum;
        let size =
            usize::try_from(size).map_err(|_| self.heap.refuse(NoMemory::Maximum(maximum)))?;
        if self.must_collect(size) {
            self.collect(size)?;
        }
        Ok(self.create(ty, size))
    }

    /// Whether a collection comes before an object of a size.
    pub(crate) fn must_collect(&self, size: usize) -> bool {
        self.heap.options.collect_always || !self.has_room(size)
    }

    /// Makes an object for which there is room.
    pub(crate) fn create(&mut self, ty: *const TypeInfo, size: usize) -> Object {
        debug_assert!(self.has_room(size));
        let context = self.context_mut();
        let place = context.heap_next;
        context.heap_next += size;
        if self.heap.options.collect_always {
            // Generated code never has room, so it always asks.
            self.context_mut().heap_end = 0;
        }
        let clean = self.heap.space.as_ref().map_or(usize::MAX, |space| space.clean);
        // SAFETY: the place lies in the space and was free; from `clean` on it is
        // zero.
        unsafe { Object::create(place, ty, size, clean) }
    }

    /// Where the objects lie.
    pub(crate) fn objects(&self) -> Range<u64> {
        let space = self.heap.space.as_ref();
        space.map_or(0..0, |space| space.base() as u64..self.context().heap_next as u64)
    }

    /// Where objects lie, for [snapshots](crate::snapshot).
    pub(crate) fn heap_region(&self) -> Option<Region> {
        let space = self.heap.space.as_ref()?;
        let Range { start, end } = self.objects();
        Some(Region::new(space.map.addresses(), start as usize..end as usize))
    }

    /// Makes room for the objects of a snapshot in the place of all that there are; returns
    /// where they are to lie.
    pub(crate) fn restore_space(&mut self, len: usize) -> anyhow::Result<u64> {
        let maximum = self.heap.options.maximum;
        anyhow::ensure!(len <= maximum, "the heap may have at most {maximum} bytes, not {len}");
        let room = room_for(len).min(maximum.max(len)).next_multiple_of(PAGE);
        let space = Space::new(room)?;
        let base = space.base();
        self.heap.space = Some(space);
        self.heap.allowed = self.heap.allowed.max(room);
        let context = self.context_mut();
        (context.heap_next, context.heap_end) = (base + len, base + room);
        Ok(base as u64)
    }

    /// Puts the objects there.
    pub(crate) fn fill_space(&mut self, bytes: &[u8]) {
        let base = self.context().heap_next - bytes.len();
        // SAFETY: there is as much room, which nobody uses yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base as *mut u8, bytes.len()) };
        if let Some(space) = &mut self.heap.space {
            space.clean = space.clean.max(base + bytes.len());
        }
        if self.heap.options.collect_always {
            self.context_mut().heap_end = 0;
        }
    }

    fn has_room(&self, size: usize) -> bool {
        let context = self.context();
        context.heap_end.checked_sub(context.heap_next).is_some_and(|room| room >= size)
    }

    /// Collects, and makes room for `needed` bytes more.
    pub(crate) fn collect(&mut self, needed: usize) -> Result<(), TrapCode> {
        self.free_released();
        if self.options.park_always && !self.is_poisoned() {
            self.park_stacks(Park::All);
        }
        let maximum = self.heap.options.maximum;
        let used = match &self.heap.space {
            Some(space) => self.context().heap_next - space.base(),
            None => 0,
        };
        if needed > maximum || self.is_poisoned() {
            return Err(self.heap.refuse(NoMemory::Maximum(maximum)));
        }
        let lists = collect::Lists::new(self)?;
        let space = self.heap.take_space(room_for(used) + needed)?;
        let (base, len) = (space.base(), space.map.len());
        let begun = self.is_traced().then(Instant::now);
        let next = collect::copy_reachable(self, lists, base, space.clean);
        self.heap.replace_space(space, used);
        let context = self.context_mut();
        // The heap is whole again, and full until the limiter has said how much there may be.
        (context.heap_next, context.heap_end) = (next, next);
        if let Some(begun) = begun {
            self.trace_collect(begun);
        }
        let live = next - base;
        let (enough, refused) = self.heap_may_have(live, needed, len);
        self.heap.allowed = self.heap.allowed.max(enough);
        // Who can wait for more does, so as not to collect all the time.
        let fits = live + needed <= enough && !self.embedder.limiter.is_open();
        self.context_mut().heap_end = base + enough.max(live);
        self.drop_dead();
        match fits {
            true => Ok(()),
            false if live + needed > maximum => Err(self.heap.refuse(NoMemory::Maximum(maximum))),
            false => Err(self.heap.refuse(refused)),
        }
    }

    /// How many bytes the objects may have in a space of some length, of which some are
    /// live and some needed; and why they may not have more.
    fn heap_may_have(&mut self, live: usize, needed: usize, len: usize) -> (usize, NoMemory) {
        let (maximum, allowed) = (self.heap.options.maximum, self.heap.allowed);
        // Perhaps no more than is needed.
        let wanted = [(room_for(live) + needed).min(maximum).min(len), live + needed];
        for to in wanted.into_iter().filter(|to| *to <= maximum) {
            let growth = Growth::Heap { from: allowed, to };
            match if to <= allowed { Decision::Yes } else { self.ask(growth) } {
                Decision::Yes => return (to, NoMemory::Limiter),
                Decision::Undecided => return (allowed.min(len), NoMemory::Undecided),
                Decision::No | Decision::Fails(_) => {}
            }
        }
        (allowed.min(len), NoMemory::Limiter)
    }
}

impl Store {
    /// Drops the host values that the last collection has not reached.
    fn drop_dead(&mut self) {
        for value in std::mem::take(&mut self.heap.externs.dead) {
            self.embedder.drop_value(value);
        }
    }
}

/// How large a space should be for this many bytes of live objects. They are
/// copied again and again, so there is three times as much room for others,
/// whose allocation pays for the copy.
fn room_for(live: usize) -> usize {
    (live * 4).max(SMALLEST_SPACE)
}

impl Heap {
    /// A space of at least this many bytes to copy to.
    fn take_space(&mut self, len: usize) -> Result<Space, TrapCode> {
        match self.spare.take() {
            Some(spare) if spare.map.len() >= len => Ok(spare),
            _ => Space::new(len.next_multiple_of(PAGE))
                .map_err(|_| self.refuse(NoMemory::Machine(len))),
        }
    }

    /// Makes a space the current one, and keeps the old one, of which this many
    /// bytes were used, for the next time.
    fn replace_space(&mut self, space: Space, used: usize) {
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

    fn base(&self) -> usize {
        self.map.base() as usize
    }
}
