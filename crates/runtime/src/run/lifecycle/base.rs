//! Bases: the outermost stacks, which have no parent.

use crate::store::Store;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::ptr;

impl Store {
    /// The base of the running stack.
    pub(crate) fn base_of_running(&self) -> *mut ControlBlock {
        debug_assert_eq!(self.context().base, self.base_of(self.context().stack));
        self.context().base
    }

    /// Continues what is suspended up to a base, which is valid and consumed.
    ///
    /// # Safety
    ///
    /// The stacks must be alive.
    pub(crate) unsafe fn run_base(&mut self, base: *mut ControlBlock) {
        let context = self.context_mut();
        context.base = base;
        // SAFETY: the caller's promise.
        context.stack = unsafe { (*base).ungroup() };
    }

    /// The base of a stack that runs, or waits for one that does.
    pub(crate) fn base_of(&self, stack: *mut ControlBlock) -> *mut ControlBlock {
        // SAFETY: such stacks are alive.
        let stack = unsafe { &*stack };
        let base = self.with_parents(stack).last().expect("at least the stack itself");
        ptr::from_ref(base).cast_mut()
    }

    /// Only the root of the newest activation can be switched to: between the
    /// others and the running stack there are frames of the host.
    pub(crate) fn check_root(&self, root: *mut ControlBlock) -> Result<(), TrapCode> {
        let newest =
            self.running.depth.checked_sub(1).map(|number| self.running.roots[number].block);
        match newest == Some(root) {
            true => Ok(()),
            false => Err(TrapCode::AcrossHostFrame),
        }
    }
}
