//! How stacks come to their end: by a trap, by an exception, or given up.

use super::owned::OwnedList;
use crate::stack::Mutation;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{NEXT_GENERATION, Purpose, StackKind};

impl Store {
    /// Frees the running stack and its parents up to, without, another.
    pub(crate) fn release_running(&mut self, until: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: running stacks and their parents are alive, and the other one
        // is among the parents.
        unsafe { self.release_chain(running, until) };
        self.context_mut().stack = until;
    }

    /// Frees a stack and its parents up to, without, another, and what they own. A
    /// root among them stays with its activation, which can end only by a trap then.
    ///
    /// # Safety
    ///
    /// They must be alive and none run generated code, and the other one be among
    /// the parents, or be the parent of bases.
    pub(crate) unsafe fn release_chain(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
    ) {
        let mut owned = OwnedList::default();
        // SAFETY: the caller's promise.
        unsafe { self.free_chain(innermost, until, Some(&mut owned)) };
        self.free_owned(owned);
    }

    /// Frees first-class stacks whose owner is gone, what those own, and so on.
    pub(crate) fn free_owned(&mut self, mut owned: OwnedList) {
        let no_parent = self.no_parent();
        while let Some(reference) = owned.pop() {
            let Ok(block) = self.consume(reference, StackKind::FirstClass) else { continue };
            // SAFETY: a valid reference named the base of suspended stacks.
            unsafe { self.free_chain((*block).innermost, no_parent, Some(&mut owned)) };
        }
    }

    /// Frees a stack and its parents up to, without, another. What they own is
    /// noted, if anybody wants to know.
    ///
    /// # Safety
    ///
    /// As for [`release_chain`](Self::release_chain); if nobody wants to know what
    /// they own, they may run.
    unsafe fn free_chain(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
        mut owned: Option<&mut OwnedList>,
    ) {
        let mut stack = innermost;
        while stack != until {
            if let Some(owned) = owned.as_deref_mut() {
                // SAFETY: the caller's promise.
                unsafe { self.take_owned(stack, owned) };
            }
            // SAFETY: the caller's promise.
            let block = unsafe { &mut *stack };
            let parent = block.parent;
            match block.purpose {
                Purpose::Root => {
                    block.become_spent();
                    self.stacks.forget_marks(stack);
                }
                _ => {
                    let mut free = self.context().free_stacks;
                    self.stacks.free(block, &mut free);
                    self.context_mut().free_stacks = free;
                }
            }
            stack = parent;
        }
    }

    /// Frees the running stack and its parents up to and with another. Its
    /// frames stay in place until it is used again.
    ///
    /// # Safety
    ///
    /// The other one must be the running stack or among its parents.
    pub(crate) unsafe fn release_up_to(&mut self, block: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: the caller's promise.
        unsafe { self.release_chain(running, (*block).parent) };
    }

    /// Frees a suspended task or fiber and what is suspended with it.
    ///
    /// # Safety
    ///
    /// It must be suspended, and so have no parent.
    pub(crate) unsafe fn release_suspended(&mut self, block: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe { self.release_chain((*block).innermost, std::ptr::null_mut()) };
    }

    /// Frees what the newest activation leaves after when it does not return:
    /// the running stack with its parents, whoever extends them, and what is
    /// suspended with its root.
    ///
    /// After an exception what they own is freed too. A trap may have happened in the
    /// middle of an instruction, so that nobody knows what they own: a
    /// [collection](Self::collect_lost) finds it.
    pub(crate) fn end_abruptly(&mut self, by_exception: bool) {
        let mutation = self.options.stacks.mutation;
        assert!(!mutation.is(Mutation::EndingPanics), "a bug was put back");
        let no_parent = self.no_parent();
        let root = self.running.roots[self.running.depth - 1].block;
        let running = self.context().stack;
        // SAFETY: running stacks are alive, so is an extender with its parents, and
        // so is what was suspended with a root.
        unsafe {
            let extender = (*self.base_of(running)).extender;
            let mut owned = OwnedList::default();
            let mut free = |innermost| {
                let owned = by_exception.then_some(&mut owned);
                self.free_chain(innermost, no_parent, owned);
            };
            free(running);
            if !extender.is_null() {
                free(extender);
            }
            let innermost = (*root).innermost;
            match (*root).is_spent() {
                true => self.free_chain(innermost, root, None),
                false => free(innermost),
            }
            self.free_owned(owned);
            (*root).become_idle(no_parent);
        }
        self.use_up_root();
    }

    /// Frees the first-class stacks that were owned by what a trap has ended, when the
    /// activation is no more: nothing else refers to them.
    #[cold]
    pub(crate) fn collect_lost(&mut self) {
        if self.objects.has_stackrefs && self.stacks.has_first_class() {
            // Where there is no room for a collection, the next one frees them.
            let _ = self.collect(0);
        }
    }

    /// Makes references to the root of the newest activation invalid.
    fn use_up_root(&mut self) {
        let number = self.running.depth - 1;
        // SAFETY: blocks of roots are alive.
        let root = unsafe { &mut *self.running.roots[number].block };
        match root.reference.checked_add(NEXT_GENERATION) {
            Some(next) => root.reference = next,
            None => {
                let root = self.running.roots.remove(number);
                self.stacks.retire_root(&root);
            }
        }
    }
}
