//! Consumes references to suspended stacks, and binds values to these.

use crate::stack::Stacks;
use crate::store::Store;
use ropewalk_abi::bound::bound_size;
use ropewalk_abi::stack::{KIND_MASK, NEXT_GENERATION, Purpose, StackKind, is_stack, kind_bits};
use ropewalk_abi::{CompositeType, ControlBlock, RawVal, TrapCode, TypeInfo};

impl Stacks {
    /// The block that a valid reference of a kind names.
    pub(crate) fn valid_of_kind(
        &self,
        reference: u64,
        kind: StackKind,
    ) -> Result<*mut ControlBlock, TrapCode> {
        let valid = self.valid(reference).filter(|_| StackKind::of(reference) == Some(kind));
        valid.ok_or_else(|| invalid_stack(reference, kind))
    }
}

impl Store {
    /// Consumes a valid reference, while arguments are in the transfer area. Returns its block.
    pub(crate) fn prepare(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
    ) -> Result<*mut ControlBlock, TrapCode> {
        if (reference & !KIND_MASK).checked_add(NEXT_GENERATION).is_none() && self.lacks_block() {
            self.collect_before(reference, ty, count, 0)?;
        }
        let kind = StackKind::of(reference).expect("a valid reference");
        self.consume(reference, kind)
    }

    /// Collects, and makes room for `needed` bytes, while a reference and the arguments in the
    /// transfer area are still in use.
    pub(crate) fn collect_before(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
        needed: usize,
    ) -> Result<(), TrapCode> {
        let params = self.options.types.get(ty.id);
        let CompositeType::Func(params) = &params.ty().composite else {
            unreachable!("continuations are made of functions");
        };
        let types = self.options.types.clone();
        let followed = (0..count).filter(|&i| types.is_collected(params.params()[i]));
        self.heap.roots.make_room(count + 1)?;
        let height = self.heap.roots.len();
        self.heap.roots.add(reference);
        for i in followed.clone() {
            self.heap.roots.add(self.transferred(i).u64());
        }
        let collected = self.collect_garbage(needed);
        for (i, number) in followed.zip(height + 1..) {
            let value = self.heap.roots.at(number);
            self.transfer(i, RawVal::from_u64(value));
        }
        self.heap.roots.truncate(height);
        collected
    }

    /// Consumes a reference of a kind. Returns its block.
    #[inline]
    pub(crate) fn consume(
        &mut self,
        reference: u64,
        kind: StackKind,
    ) -> Result<*mut ControlBlock, TrapCode> {
        debug_assert!(reference == 0 || is_stack(reference));
        let is_of_kind = reference & KIND_MASK == kind_bits(kind);
        let block = self.stacks.valid(reference).filter(|_| is_of_kind);
        let block = block.ok_or_else(|| invalid_stack(reference, kind))?;
        let Some(next) = (reference & !KIND_MASK).checked_add(NEXT_GENERATION) else {
            // The result is returned in memory. Unpacking it here keeps the others in registers.
            // SAFETY: as below.
            let renewed = unsafe { self.renew(block) }?;
            return Ok(renewed);
        };
        // SAFETY: a valid reference names a stack that is suspended or new.
        unsafe { (*block).reference = next };
        Ok(block)
    }

    /// Binds the first values of the transfer area to a stack. Returns the new reference.
    pub(crate) fn bind(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
        kind: StackKind,
    ) -> Result<u64, TrapCode> {
        let registered = self.options.types.get(ty.id);
        let CompositeType::Func(params) = &registered.ty().composite else {
            unreachable!("continuations are made of functions");
        };
        let params = params.params();
        self.check_transferred(&params[..count]);
        self.make_room_to_bind(reference, kind, count)?;
        let block = self.consume(reference, kind)?;
        // SAFETY: the reference named a suspended or new stack that expects these parameters, and
        // there is room.
        unsafe {
            if count > 0 {
                self.put_bound((*block).innermost, ty, params.len(), count);
            }
            Ok((*block).reference | kind_bits(kind))
        }
    }

    /// Makes room to bind `count` values on the stack that a reference continues.
    fn make_room_to_bind(
        &mut self,
        reference: u64,
        kind: StackKind,
        count: usize,
    ) -> Result<(), TrapCode> {
        let block = self.stacks.valid_of_kind(reference, kind)?;
        // SAFETY: a valid reference names a stack that is suspended or new, and so is the innermost
        // of those suspended with it.
        unsafe {
            self.unpark_group(block)?;
            self.make_room((*block).innermost, bound_size(count))
        }
    }

    /// Fails if a reference is invalid, or names a root to which control cannot switch.
    pub(crate) fn check_target(&self, reference: u64, kind: StackKind) -> Result<(), TrapCode> {
        let block = self.stacks.valid_of_kind(reference, kind)?;
        // SAFETY: the block of a valid reference is alive.
        match unsafe { (*block).purpose } {
            Purpose::Root => self.check_root(block),
            _ => Ok(()),
        }
    }
}

/// The trap for a reference that is not a valid one of a kind.
pub(crate) fn invalid_stack(reference: u64, kind: StackKind) -> TrapCode {
    use StackKind::*;
    if reference != 0 && StackKind::of(reference) != Some(kind) {
        return TrapCode::OtherDesign;
    }
    match (kind, reference == 0) {
        (Continuation, true) => TrapCode::NullContinuation,
        (Continuation, false) => TrapCode::ContinuationConsumed,
        (Bag | FirstClass, true) => TrapCode::NullStack,
        (Bag | FirstClass, false) => TrapCode::StackUsed,
        (Task, true) => TrapCode::NullTask,
        (Task, false) => TrapCode::TaskMoribund,
        (Fiber, true) => TrapCode::NullFiber,
        (Fiber, false) => TrapCode::FiberMoribund,
    }
}
