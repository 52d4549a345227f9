//! Allocates objects, and collects garbage when there is no room.

use super::collect::{Lists, copy_reachable};
use crate::code::types::RegisteredType;
use crate::embedder::{Decision, Growth};
use crate::heap::{NoMemory, Object, room_for};
use crate::stack::Park;
use crate::store::Store;
use ropewalk_abi::heap::array_size;
use ropewalk_abi::{TrapCode, TypeInfo, TypeKind};
use std::ops::Range;
use std::time::Instant;

impl Store {
    /// Makes an object of a type, zero but for its header. Collects if necessary.
    pub(crate) fn allocate(&mut self, ty: *const TypeInfo, size: u64) -> Result<Object, TrapCode> {
        let maximum = self.heap.options.maximum;
        let size =
            usize::try_from(size).map_err(|_| self.heap.refuse(NoMemory::Maximum(maximum)))?;
        if self.must_collect(size) {
            self.collect_garbage(size)?;
        }
        Ok(self.create(ty, size))
    }

    pub(crate) fn must_collect(&self, size: usize) -> bool {
        self.heap.must_collect(self.context(), size)
    }

    pub(crate) fn create(&mut self, ty: *const TypeInfo, size: usize) -> Object {
        let (heap, context) = self.heap_and_context();
        heap.create(context, ty, size)
    }

    /// Replaces all objects by room for those of a snapshot. Returns their address.
    pub(crate) fn restore_space(&mut self, len: usize) -> anyhow::Result<u64> {
        let (heap, context) = self.heap_and_context();
        heap.restore_space(context, len)
    }

    /// Copies the objects of a snapshot into that room.
    pub(crate) fn fill_space(&mut self, bytes: &[u8]) {
        let (heap, context) = self.heap_and_context();
        heap.fill_space(context, bytes);
    }

    /// The addresses of all objects of the heap.
    pub(crate) fn object_addresses(&self) -> Range<u64> {
        self.heap.objects(self.context())
    }
}

impl Store {
    /// Collects, and makes room for `needed` more bytes.
    pub(crate) fn collect_garbage(&mut self, needed: usize) -> Result<(), TrapCode> {
        self.free_released();
        if self.options.stress.park_always && !self.running.is_poisoned() {
            self.park_stacks(Park::All);
        }
        let maximum = self.heap.options.maximum;
        let used = self.heap.used(self.context());
        if needed > maximum || self.running.is_poisoned() {
            return Err(self.heap.refuse(NoMemory::Maximum(maximum)));
        }
        let lists = Lists::new(self)?;
        let space = self.heap.take_space(room_for(used) + needed)?;
        let (base, len) = (space.base(), space.len());
        let begun = self.is_traced().then(Instant::now);
        let next = copy_reachable(self, lists, base, space.clean);
        self.heap.replace_space(space, used);
        let context = self.context_mut();
        // The heap is consistent again. It is full until the limiter has said how large it may be.
        (context.heap_next, context.heap_end) = (next, next);
        if let Some(begun) = begun {
            self.trace_collect(begun);
        }
        let live = next - base;
        let (enough, refused) = self.heap_may_have(live, needed, len);
        self.heap.allow(enough);
        // A builtin that can wait for the limiter does so, to avoid frequent collections.
        let fits = live + needed <= enough && !self.embedder.limiter.is_open();
        self.context_mut().heap_end = base + enough.max(live);
        self.drop_dead();
        match fits {
            true => Ok(()),
            false if live + needed > maximum => Err(self.heap.refuse(NoMemory::Maximum(maximum))),
            false => Err(self.heap.refuse(refused)),
        }
    }

    /// How large the heap may be in a space of a length, and why it may not be larger.
    fn heap_may_have(&mut self, live: usize, needed: usize, len: usize) -> (usize, NoMemory) {
        let (maximum, allowed) = (self.heap.options.maximum, self.heap.allowed);
        // If the first size is refused, ask for just enough.
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

    /// Drops the host values that the last collection did not reach.
    fn drop_dead(&mut self) {
        for value in self.heap.externs.take_dead() {
            self.embedder.drop_value(value);
        }
    }

    /// Collects garbage.
    pub fn gc(&mut self) {
        // If nothing must be allocated, this can only fail for lack of memory to copy to. Then
        // nothing has changed.
        let _ = self.collect_garbage(0);
        self.continue_panic();
    }

    /// Makes a zeroed struct or array. `len` is the length of an array.
    pub fn new_object(&mut self, ty: &RegisteredType, len: u32) -> Result<u64, TrapCode> {
        let size = match ty.ty().composite.kind() {
            TypeKind::Array => array_size(ty.layout().size, len),
            _ => u64::from(ty.layout().size),
        };
        let object = self.allocate(ty.info(), size)?;
        if ty.ty().composite.kind() == TypeKind::Array {
            object.set_len(len);
        }
        Ok(object.reference())
    }
}
