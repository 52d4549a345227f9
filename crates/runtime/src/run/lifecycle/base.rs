//! Bases: the outermost stacks, which have no parent.

use crate::stack::InjectedBug;
use crate::store::Store;
use ropewalk_abi::{ControlBlock, TrapCode};
use std::ptr;

impl Store {
    /// Makes the stacks suspended up to a base the running ones. The reference to the base was
    /// consumed.
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

    /// Fails if a root is not that of the newest activation. Control cannot switch to another root,
    /// because host frames are in between.
    pub(crate) fn check_root(&self, root: *mut ControlBlock) -> Result<(), TrapCode> {
        match self.running.roots.newest() == Some(root) {
            true => Ok(()),
            false => Err(TrapCode::AcrossHostFrame),
        }
    }

    /// Abandons a rout that has not started, when an exception continues below it. Nothing waits
    /// for its start anymore. Its extender stays suspended forever, because nothing names it.
    pub(crate) fn abandon_extension(&mut self) {
        let base = self.base_of_running();
        if self.options.stacks.injected.is(InjectedBug::LandingKeepsExtender) {
            return;
        }
        // SAFETY: running stacks and those that wait for them are alive.
        unsafe {
            let extender = std::mem::replace(&mut (*base).extender, ptr::null_mut());
            if !extender.is_null() {
                (*self.running.base_of(extender)).group(extender);
            }
        }
    }
}
