//! Bag of stacks: the operations that generated code does not inline.

use crate::heap::Object;
use crate::store::Store;
use ropewalk_abi::TrapCode;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::stack::{StackKind, kind_bits};

impl Store {
    /// Suspends the running stacks up to the base, and throws an exception on another suspended
    /// stack. The reference to the suspended stacks is stored in the exception at an offset.
    pub(crate) fn switch_throw(&mut self, reference: u64, exception: u64, offset: u32) -> Outcome {
        let switched = self.switch_to_throw(reference, exception, offset);
        self.throw_or_trap(switched.map(|()| exception))
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
        let current = self.context().stack;
        let base = self.base_of_running();
        // SAFETY: a valid reference named the base of suspended stacks.
        unsafe { self.unpark_group(target) }?;
        // SAFETY: blocks in use are alive. The exception has room for its last value, which is a
        // reference.
        unsafe {
            (*base).group(current);
            let left = (*base).reference | kind_bits(kind);
            let object = Object::from_reference(exception).expect("exceptions are not null");
            object.at::<u64>(offset).write(left);
            self.drop_bound((*target).innermost);
            self.trace_switch((*target).innermost, 0, std::ptr::null());
            self.run_base(target);
        }
        Ok(())
    }
}
