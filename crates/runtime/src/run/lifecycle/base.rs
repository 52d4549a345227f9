//! Bases: the outermost stacks, which have no parent.

use crate::stack::Mutation;
use crate::store::Store;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::ptr;

impl Store {
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

    /// An exception continues below a rout that has not started: nobody waits for
    /// its start any more. Whoever did is suspended for ever, since nothing names
    /// it.
    pub(crate) fn abandon_extension(&mut self) {
        let base = self.base_of_running();
        if self.options.stacks.mutation.is(Mutation::LandingKeepsExtender) {
            return;
        }
        // SAFETY: running stacks and those that wait for them are alive.
        unsafe {
            let extender = std::mem::replace(&mut (*base).extender, ptr::null_mut());
            if !extender.is_null() {
                (*self.base_of(extender)).group(extender);
            }
        }
    }
}
