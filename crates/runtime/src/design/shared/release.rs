//! How stacks come to their end: by a trap, by an exception, or given up.

use crate::stack::Mutation;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{NEXT_GENERATION, Purpose};

impl Store {
    /// Frees the running stack and its parents up to, without, another.
    pub(crate) fn release_running(&mut self, until: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: running stacks and their parents are alive, and the other one
        // is among the parents.
        unsafe { self.release_chain(running, until) };
        self.context_mut().stack = until;
    }

    /// Frees a stack and its parents up to, without, another. A root among them
    /// stays with its activation, which can end only by a trap then.
    ///
    /// # Safety
    ///
    /// They must be alive, and the other one be among the parents, or be the
    /// parent of bases.
    pub(crate) unsafe fn release_chain(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
    ) {
        let mut stack = innermost;
        while stack != until {
            // SAFETY: the caller's promise.
            let block = unsafe { &mut *stack };
            let parent = block.parent;
            match block.purpose {
                Purpose::Root => {
                    block.become_idle(self.no_parent());
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
    pub(crate) fn end_by_trap(&mut self) {
        let mutation = self.options.stacks.mutation;
        assert_ne!(mutation, Some(Mutation::EndingPanics), "a bug was put back");
        let no_parent = self.no_parent();
        let root = self.roots[self.depth - 1].block;
        let running = self.context().stack;
        // SAFETY: running stacks are alive, so is an extender with its parents, and
        // so is what was suspended with a root.
        unsafe {
            let extender = (*self.base_of(running)).extender;
            self.release_chain(running, no_parent);
            if !extender.is_null() {
                self.release_chain(extender, no_parent);
            }
            // If it was running, it is idle by now.
            self.release_chain((*root).innermost, no_parent);
        }
        self.use_up_root();
    }

    /// Makes references to the root of the newest activation invalid.
    fn use_up_root(&mut self) {
        let number = self.depth - 1;
        // SAFETY: blocks of roots are alive.
        let root = unsafe { &mut *self.roots[number].block };
        match root.reference.checked_add(NEXT_GENERATION) {
            Some(next) => root.reference = next,
            None => {
                let root = self.roots.remove(number);
                self.stacks.retire_root(&root);
            }
        }
    }
}
