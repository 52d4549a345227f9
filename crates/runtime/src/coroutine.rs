//! What the bag of stacks needs of the runtime: the uncommon cases.

use crate::activation::Ending;
use crate::heap::Object;
use crate::store::Store;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::stack::{StackKind, StackState, kind_bits};
use ropewalk_abi::{ControlBlock, TrapCode};
use std::ptr;

impl Store {
    /// The base of the running stack.
    pub(crate) fn base_of_running(&self) -> *mut ControlBlock {
        self.base_of(self.context().stack)
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
        match self.roots[self.depth - 1].block == root {
            true => Ok(()),
            false => Err(TrapCode::AcrossHostFrame),
        }
    }

    /// Suspends everything up to the base, and throws an exception where a
    /// coroutine is suspended. The exception's value at an offset becomes the
    /// stack that is left.
    pub(crate) fn switch_throw(&mut self, reference: u64, exception: u64, offset: u32) -> Outcome {
        match self.switch_to_throw(reference, exception, offset) {
            Ok(()) => self.throw(exception),
            Err(code) => {
                self.set_ending(Ending::Trap(code));
                Outcome::END
            }
        }
    }

    fn switch_to_throw(
        &mut self,
        reference: u64,
        exception: u64,
        offset: u32,
    ) -> Result<(), TrapCode> {
        let kind = StackKind::Bag;
        self.check_target(reference, kind)?;
        let target = self.consume(reference, kind)?;
        self.take_bound(target);
        let current = self.context().stack;
        let base = self.base_of_running();
        // SAFETY: blocks in use are alive; the exception has room for its last
        // value, which is a reference.
        unsafe {
            (*base).entangle(current);
            let left = (*base).reference | kind_bits(kind);
            let object = Object::from_reference(exception).expect("exceptions are not null");
            object.at::<u64>(offset).write(left);
            self.context_mut().stack = (*target).disentangle();
        }
        Ok(())
    }

    /// Checks that a reference is valid and does not name a root that control
    /// cannot go to.
    pub(crate) fn check_target(&self, reference: u64, kind: StackKind) -> Result<(), TrapCode> {
        let valid = self.stacks.valid(reference).filter(|_| StackKind::of(reference) == Some(kind));
        let block = valid.ok_or_else(|| crate::continuation::invalid_stack(reference, kind))?;
        // SAFETY: the block of a valid reference is alive.
        match unsafe { (*block).state } {
            StackState::Root => self.check_root(block),
            _ => Ok(()),
        }
    }
}
