//! What continuations need of the runtime: the uncommon cases.

use crate::activation::Ending;
use crate::stack::{BoundValue, Mutation};
use crate::store::Store;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::stack::{KIND_MASK, NEXT_GENERATION, StackKind, is_stack, kind_bits};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{CompositeType, ControlBlock, RawVal, TrapCode, TypeInfo};

impl Store {
    /// Makes a stack ready, because there was none: collects if it is time, and
    /// puts some on the list. Answers the first.
    pub(crate) fn new_stack(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        if self.stacks.should_collect() {
            self.collect(0)?;
        }
        if self.context().free_stacks.is_null() {
            let list = self.stacks.make_ready()?;
            let blocks = self.stacks.base();
            let context = self.context_mut();
            context.free_stacks = list;
            context.blocks = blocks;
        }
        Ok(self.context().free_stacks)
    }

    /// Gives a stack whose generations are used up another block. A root that
    /// is suspended stays that of its activation.
    ///
    /// # Safety
    ///
    /// The block must be that of a stack that is suspended or new.
    unsafe fn renew(&mut self, block: *mut ControlBlock) -> Result<*mut ControlBlock, TrapCode> {
        // SAFETY: the caller's promise.
        let new = unsafe { self.stacks.renew(block) }?;
        if let Some(root) = self.roots.iter_mut().find(|root| root.block == block) {
            root.block = new;
        }
        if self.context().root == block {
            self.context_mut().root = new;
        }
        Ok(new)
    }

    /// Uses up a valid reference, and puts the bound values of the stack before
    /// the arguments, of a type, that are in the transfer area; answers its block.
    pub(crate) fn ready(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
    ) -> Result<*mut ControlBlock, TrapCode> {
        if (reference & !KIND_MASK).checked_add(NEXT_GENERATION).is_none()
            && self.stacks.is_table_full()
        {
            self.collect_before(reference, ty, count, 0)?;
        }
        let kind = StackKind::of(reference).expect("a valid reference");
        let block = self.consume(reference, kind)?;
        let bound = self.take_bound(block);
        match self.options.stacks.mutation {
            Some(Mutation::BoundValuesLast) => self.put_behind(&bound, count),
            _ => self.put_before(&bound, count),
        }
        Ok(block)
    }

    /// Collects while a reference and the arguments, of a type, that are in the
    /// transfer area are still needed, and makes room for so many bytes.
    pub(crate) fn collect_before(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
        needed: usize,
    ) -> Result<(), TrapCode> {
        let scope = self.begin_scope();
        self.root(reference);
        let params = self.options.types.get(ty.id);
        let CompositeType::Func(params) = &params.ty().composite else {
            unreachable!("continuations are made of functions");
        };
        let followed = (0..count).filter(|&i| self.options.types.is_collected(params.params()[i]));
        let followed: Vec<usize> = followed.collect();
        let roots: Vec<_> =
            followed.iter().map(|&i| self.root(self.transferred(i).u64())).collect();
        let collected = self.collect(needed);
        for (&i, root) in followed.iter().zip(roots) {
            let value = self.rooted(root).expect("its scope has not ended");
            self.transfer(i, RawVal::from_u64(value));
        }
        self.end_scope(scope);
        collected
    }

    /// The block that a reference of a kind names, which is used up.
    pub(crate) fn consume(
        &mut self,
        reference: u64,
        kind: StackKind,
    ) -> Result<*mut ControlBlock, TrapCode> {
        debug_assert!(reference == 0 || is_stack(reference));
        let block = self.stacks.valid(reference).filter(|_| StackKind::of(reference) == Some(kind));
        let block = block.ok_or_else(|| invalid_stack(reference, kind))?;
        match (reference & !KIND_MASK).checked_add(NEXT_GENERATION) {
            // SAFETY: a valid reference names a stack that is suspended or new.
            Some(next) => unsafe { (*block).reference = next },
            // SAFETY: as above.
            None => return unsafe { self.renew(block) },
        }
        Ok(block)
    }

    /// Binds the first values of the transfer area to a continuation; answers
    /// the new reference.
    pub(crate) fn bind(
        &mut self,
        reference: u64,
        ty: &TypeInfo,
        count: usize,
        kind: StackKind,
    ) -> Result<u64, TrapCode> {
        let block = self.consume(reference, kind)?;
        let number = self.stacks.number_of(block).expect("it was named by a reference");
        let ty = self.options.types.get(ty.id);
        let CompositeType::Func(ty) = &ty.ty().composite else {
            unreachable!("continuations are made of functions");
        };
        let params = &ty.params()[..count];
        self.check_transferred(params);
        let values = params.iter().enumerate().map(|(i, &ty)| BoundValue {
            value: self.transferred(i),
            class: ValueClass::of(ty),
            is_collected: self.options.types.is_collected(ty),
        });
        let values: Vec<_> = values.collect();
        self.stacks.belongings.bind(number, values);
        // SAFETY: the block lies in the table.
        unsafe {
            (*block).bound += count as u16;
            Ok((*block).reference | kind_bits(kind))
        }
    }

    pub(crate) fn take_bound(&mut self, block: *mut ControlBlock) -> Vec<BoundValue> {
        let number = self.stacks.number_of(block).expect("a block of the table");
        // SAFETY: the block lies in the table.
        unsafe { (*block).bound = 0 };
        self.stacks.belongings.take_bound(number)
    }

    /// Searches outwards for the clause of a handler word; answers its signal
    /// and leaves the outermost captured stack in the context.
    pub(crate) fn find_clause(&mut self, word: u64) -> Result<u64, TrapCode> {
        let mut stack = self.context().stack;
        loop {
            // SAFETY: running stacks and their parents are alive; the last
            // parent is a block without handlers, which has no parent.
            unsafe {
                let parent = (*stack).parent;
                if parent == self.no_parent() {
                    return Err(TrapCode::UnhandledTag);
                }
                if let Some(clause) = position((*parent).handlers, word) {
                    self.remember(word, clause, stack);
                    self.context_mut().found = stack;
                    return Ok(clause + 1);
                }
                stack = parent;
            }
        }
    }

    /// Notes where the running stack found a handler, so that generated code
    /// finds it by itself the next time. It looks only at first clauses.
    fn remember(&mut self, word: u64, clause: u64, outermost: *mut ControlBlock) {
        let running = self.context().stack;
        if clause == 0 {
            // SAFETY: the running stack's block is alive.
            unsafe { (*running).remember(word, outermost) };
        }
    }

    /// Continues a continuation with an exception.
    pub(crate) fn resume_throw(
        &mut self,
        reference: u64,
        exception: u64,
        handlers: *const u64,
    ) -> Outcome {
        let block = match self.consume(reference, StackKind::Continuation) {
            Ok(block) => block,
            Err(code) => {
                self.set_ending(Ending::Trap(code));
                return Outcome::END;
            }
        };
        self.take_bound(block);
        let current = self.context().stack;
        // SAFETY: both blocks are alive.
        unsafe {
            (*current).handlers = handlers;
            (*current).forget_through();
            (*block).parent = current;
            self.context_mut().stack = (*block).disentangle();
        }
        self.throw(exception)
    }
}

/// Why a reference is not a valid one of a kind.
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

/// The place of a word in a list that ends in zero.
///
/// # Safety
///
/// It must be such a list.
unsafe fn position(list: *const u64, word: u64) -> Option<u64> {
    // SAFETY: the caller's promise.
    let words = (0..).map(|i| (i, unsafe { *list.add(i) })).take_while(|(_, found)| *found != 0);
    words.into_iter().find(|(_, found)| *found == word).map(|(i, _)| i as u64)
}
