//! First-class stacks: events, dropping and redirecting stacks, extensions, and [walks](walk).

mod walk;

use crate::heap::write_storage;
use crate::stack::{InjectedBug, SavedPosition};
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::stack::{ClauseKind, StackKind, kind_bits, tag_of_handler};
use ropewalk_abi::types::StorageType;
use ropewalk_abi::{ControlBlock, RawVal, TagDef, TrapCode};
use std::ptr;

const KIND: StackKind = StackKind::FirstClass;

impl Store {
    /// Leaves the running stack, and throws an event on another stack. Its values are in the
    /// transfer area. If the running stack is not freed, the last value is a reference to it.
    pub(crate) fn event_throw(&mut self, reference: u64, word: u64, frees: bool) -> Outcome {
        match self.switch_for_event(reference, word, frees) {
            Err(TrapCode::EventReachedGround) => self.end_at_ground(word),
            thrown => self.throw_or_trap(thrown),
        }
    }

    /// Throws an event, whose values are in the transfer area, in the frame that called the thunk.
    pub(crate) fn event_return(&mut self, word: u64) -> Outcome {
        // SAFETY: the running stack's block is alive, and its newest frame is that of the thunk.
        let below = unsafe { *(((*self.context().stack).fp + size_of::<usize>()) as *const usize) };
        if below == self.context().ground as usize {
            return self.end_at_ground(word);
        }
        let thrown = self.event_exception(word, None, 0);
        self.throw_or_trap(thrown)
    }

    #[cold]
    fn end_at_ground(&mut self, word: u64) -> Outcome {
        let title = self.event_title(word);
        self.end_with(Ending::DetailedTrap(TrapCode::EventReachedGround, title))
    }

    /// Switches to a stack. Returns the exception to throw there.
    fn switch_for_event(
        &mut self,
        reference: u64,
        word: u64,
        frees: bool,
    ) -> Result<u64, TrapCode> {
        self.check_target(reference, KIND)?;
        let target = self.consume(reference, KIND)?;
        let base = self.base_of_running();
        // SAFETY: blocks in use are alive.
        let (left, innermost, waiting) = unsafe {
            let left = (*base).reference | kind_bits(KIND);
            (left, (*target).innermost, (*target).reference | kind_bits(KIND))
        };
        let exception = self.event_exception(word, (!frees).then_some(left), waiting)?;
        if self.is_at_ground(innermost) {
            return Err(TrapCode::EventReachedGround);
        }
        // SAFETY: a valid reference named the base of suspended stacks.
        unsafe { self.unpark_group(target) }?;
        let tag = tag_of_handler(word) as *const TagDef;
        // SAFETY: the base is the running stack or one of its parents.
        unsafe {
            match frees {
                true => {
                    self.trace_last_switch(innermost, tag);
                    self.release_up_to(base);
                }
                false => {
                    (*base).group(self.context().stack);
                    self.trace_switch(innermost, 0, tag);
                }
            }
        }
        // SAFETY: as above.
        unsafe { self.run_base(target) };
        Ok(exception)
    }

    /// Whether a suspended stack is blank.
    fn is_at_ground(&self, stack: *const ControlBlock) -> bool {
        // SAFETY: the address to continue at is on top of a suspended stack.
        unsafe {
            *(SavedPosition::of(&*stack).sp as *const usize) == self.context().ground as usize
        }
    }

    /// Makes the exception of an event, from the values in the transfer area and perhaps one more.
    /// If it collects, the stack that `reference` names is kept alive.
    fn event_exception(
        &mut self,
        word: u64,
        last: Option<u64>,
        reference: u64,
    ) -> Result<u64, TrapCode> {
        let tag = (word - ClauseKind::Event as u64) as *mut TagDef;
        // SAFETY: events are tags, which live as long as the store, and types live as long as the
        // engine.
        let ty = unsafe { &*(*tag).ty };
        let registered = self.options.types.get(ty.id);
        let layout = registered.layout();
        let params = registered.ty().composite.as_func().expect("tags have function types");
        let given = params.params().len() - usize::from(last.is_some());
        let size = layout.size as usize;
        if self.must_collect(size) {
            self.collect_before(reference, ty, given, size)?;
        }
        let object = self.create(ty, size);
        object.set_tag(tag);
        self.check_transferred(&params.params()[..given]);
        for (i, (ty, offset)) in params.params().iter().zip(&layout.offsets).enumerate() {
            let value = match last {
                Some(last) if i == given => RawVal::from_u64(last),
                _ => self.transferred(i),
            };
            // SAFETY: the layout of the type has room for the value.
            unsafe { write_storage(object.at(*offset), StorageType::Val(*ty), &value) };
        }
        Ok(object.reference())
    }

    // ---- references

    /// Frees a stack, unless the reference is null or used.
    pub(crate) fn drop_stack(&mut self, reference: u64) {
        let Ok(block) = self.consume(reference, KIND) else { return };
        // SAFETY: a valid reference named the base of suspended stacks.
        unsafe { self.release_chain((*block).innermost, self.running.no_parent()) };
    }

    /// Makes a new reference to a suspended stack. The old one becomes stale.
    pub(crate) fn deliver_stack(&mut self, reference: u64) -> u64 {
        match self.consume(reference, KIND) {
            // SAFETY: the block is alive.
            Ok(block) => unsafe { (*block).reference | kind_bits(KIND) },
            Err(_) => reference,
        }
    }

    /// Frees the running stack, and throws an exception on another. If the reference is null,
    /// throws it here and frees nothing.
    pub(crate) fn redirect(&mut self, exception: u64, reference: u64) -> Outcome {
        let thrown = match reference {
            0 => Ok(exception),
            _ => self.switch_for_exception(reference).map(|()| exception),
        };
        self.throw_or_trap(thrown)
    }

    fn switch_for_exception(&mut self, reference: u64) -> Result<(), TrapCode> {
        self.check_target(reference, KIND)?;
        let target = self.consume(reference, KIND)?;
        let base = self.base_of_running();
        // SAFETY: blocks in use are alive, and the base is the running stack or one of its parents.
        unsafe {
            self.unpark_group(target)?;
            self.trace_last_switch((*target).innermost, ptr::null());
            self.release_up_to(base);
            self.run_base(target);
        }
        Ok(())
    }

    // ---- extensions

    /// Suspends the stacks that a rout has extended. Returns the extender, and leaves the base in
    /// the context.
    pub(crate) fn extension_end(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        let running = self.context().stack;
        let base = self.base_of_running();
        // SAFETY: running stacks are alive.
        let extender = unsafe { (*base).extender };
        if extender.is_null() {
            return Err(TrapCode::NotExtended);
        }
        // SAFETY: as above.
        unsafe {
            if !self.options.stacks.injected.is(InjectedBug::ExtenderStays) {
                (*base).extender = ptr::null_mut();
            }
            (*base).group(running);
        }
        debug_assert_eq!(self.context().extending, self.running.base_of(extender));
        let context = self.context_mut();
        context.found = base;
        context.base = context.extending;
        Ok(extender)
    }
}
