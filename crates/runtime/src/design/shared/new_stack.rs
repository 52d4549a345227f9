//! New stacks, and stacks that get another block.

use crate::stack::Park;
use crate::stack::growth::NoRoom;
use crate::store::Store;
use ropewalk_abi::{ControlBlock, TrapCode};

impl Store {
    /// Makes a stack ready, because there was none: collects if it is time, and
    /// puts some on the list. Returns the first.
    pub(crate) fn new_stack(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        self.free_released();
        if self.context().free_stacks.is_null() && self.stacks.should_collect() {
            self.collect(0)?;
        }
        if self.context().free_stacks.is_null() {
            self.park_if_needed();
            let list = self.make_stacks()?;
            let blocks = self.stacks.base();
            let context = self.context_mut();
            context.free_stacks = list;
            context.blocks = blocks;
        }
        Ok(self.context().free_stacks)
    }

    /// Makes some stacks, as many as whoever limits the store allows.
    fn make_stacks(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        let allowed = self.count_allowed().or_else(|| {
            self.park_stacks(Park::All);
            self.stacks.give_back_unused();
            self.count_allowed()
        });
        match allowed {
            Some(count) => self.stacks.make_ready(count),
            None => Err(self.stacks.refuse(NoRoom::Limiter)),
        }
    }

    /// How many stacks can be made now, if any.
    fn count_allowed(&mut self) -> Option<usize> {
        let count = self.stacks.count_stacks();
        [self.stacks.pool(), 1].into_iter().find(|wanted| {
            let bytes = self.stacks.taken_with(*wanted);
            self.limiter.stacks_growing(count, count + wanted, bytes)
        })
    }

    /// Gives a stack whose generations are used up another block. A root that
    /// is suspended stays that of its activation.
    ///
    /// # Safety
    ///
    /// The block must be that of a stack that is suspended or new.
    pub(super) unsafe fn renew(
        &mut self,
        block: *mut ControlBlock,
    ) -> Result<*mut ControlBlock, TrapCode> {
        // SAFETY: the caller's promise.
        let new = unsafe { self.stacks.renew(block) }?;
        let frozen = self.frozen.iter_mut().flatten().map(|frozen| &mut frozen.root);
        let mut roots = self.roots.iter_mut().chain(frozen);
        if let Some(root) = roots.find(|root| root.block == block) {
            root.block = new;
        }
        if self.context().root == block {
            self.context_mut().root = new;
        }
        Ok(new)
    }

    /// The first of the free stacks with another block, because its generations
    /// are used up.
    pub(crate) fn renew_free(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        if self.stacks.is_table_full() {
            self.collect(0)?;
        }
        let mut free = self.context().free_stacks;
        let renewed = self.stacks.renew_free(&mut free);
        self.context_mut().free_stacks = free;
        renewed.map(|()| free)
    }
}
