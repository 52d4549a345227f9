//! How stacks come to their end: by a trap, by an exception, or given up.

use crate::stack;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{NEXT_GENERATION, StackState};

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
            self.take_bound(stack);
            match block.state {
                StackState::Root => {
                    block.be_alone();
                    block.marks = 0;
                    // It has another one while it is being extended.
                    block.parent = self.no_parent();
                }
                _ => stack::release(block, &mut self.context_mut().free_stacks),
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

    /// Frees what the newest activation leaves behind when it does not return:
    /// the running stack with its parents, and what is suspended with its root.
    pub(crate) fn end_by_trap(&mut self) {
        self.context_mut().extended = std::ptr::null_mut();
        let base = self.no_parent();
        let root = self.roots[self.depth - 1].block;
        let running = self.context().stack;
        // SAFETY: running stacks are alive, and so is what was suspended with a
        // root, unless a collection has made the root alone.
        unsafe {
            let runs = self.with_parents(&*running).any(|stack| std::ptr::eq(stack, root));
            self.release_chain(running, base);
            if !runs {
                self.release_chain((*root).innermost, base);
            }
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
