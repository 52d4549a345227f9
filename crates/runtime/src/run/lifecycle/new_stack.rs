//! Makes stacks, and gives stacks other blocks.

use crate::embedder::{Decision, Growth};
use crate::stack::Park;
use crate::stack::growth::NoRoom;
use crate::store::Store;
use ropewalk_abi::{ControlBlock, TrapCode};

impl Store {
    /// Makes at least one stack free. Returns the first.
    pub(crate) fn new_stack(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        self.make_free(1)?;
        Ok(self.context().free_stacks)
    }

    /// Makes sure that `count` stacks are free. Collects if that is due, and adds stacks to the
    /// list.
    pub(crate) fn make_free(&mut self, count: usize) -> Result<(), TrapCode> {
        self.free_released();
        if self.count_missing(count) > 0 {
            // This takes less time than a collection, which visits possibly millions of stacks.
            self.park_if_out_of_slots();
            if self.stacks.should_collect() {
                self.collect_garbage(0)?;
            }
        }
        let mut missing = self.count_missing(count);
        while missing > 0 {
            self.park_if_needed();
            let list = self.make_stacks()?;
            self.note_table();
            let context = self.context_mut();
            // SAFETY: the new stacks are a list, which ends in null.
            let made = unsafe { append(list, context.free_stacks) };
            context.free_stacks = list;
            missing = missing.saturating_sub(made);
        }
        Ok(())
    }

    /// The number of free stacks that are missing for this count.
    fn count_missing(&self, count: usize) -> usize {
        let mut free = self.context().free_stacks;
        for found in 0..count {
            // SAFETY: the list of free stacks ends in null.
            let Some(stack) = (unsafe { free.as_ref() }) else { return count - found };
            free = stack.next_free;
        }
        0
    }

    /// Makes some stacks, as many as the limiter allows.
    fn make_stacks(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        let allowed = match self.count_allowed() {
            Err(NoRoom::Limiter) => {
                self.park_stacks(Park::All);
                self.stacks.give_back_unused();
                self.count_allowed()
            }
            allowed => allowed,
        };
        match allowed {
            Ok(count) => self.stacks.make_ready(count),
            Err(reason) => Err(self.stacks.refuse(reason)),
        }
    }

    /// The number of stacks that the limiter allows now.
    fn count_allowed(&mut self) -> Result<usize, NoRoom> {
        let from = self.stacks.count_stacks();
        for wanted in [self.stacks.options.pool, 1] {
            let bytes = self.stacks.taken_with(wanted);
            match self.ask(Growth::Stacks { from, to: from + wanted, bytes }) {
                Decision::Yes => return Ok(wanted),
                Decision::Undecided => return Err(NoRoom::Undecided),
                Decision::No | Decision::Fails(_) => {}
            }
        }
        Err(NoRoom::Limiter)
    }

    /// Gives a stack whose generations are used up another block. A suspended root stays the root
    /// of its activation.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new.
    pub(super) unsafe fn renew(
        &mut self,
        block: *mut ControlBlock,
    ) -> Result<*mut ControlBlock, TrapCode> {
        // SAFETY: the caller's promise.
        let new = unsafe { self.stacks.renew(block) }?;
        self.running.replace_block(block, new);
        if self.context().root == block {
            self.context_mut().root = new;
        }
        Ok(new)
    }

    /// Gives the first free stack, whose generations are used up, another block, and returns it.
    pub(crate) fn renew_free(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        let first = self.context().free_stacks;
        // SAFETY: there is a free stack, and the list ends in null.
        unsafe { self.stacks.make_block_spare(&mut (*first).next_free) };
        if self.stacks.is_table_full() {
            self.collect_garbage(0)?;
        }
        let mut free = self.context().free_stacks;
        let renewed = self.stacks.renew_free(&mut free);
        self.context_mut().free_stacks = free;
        renewed.map(|()| free)
    }

    /// Whether there is no block for another stack, even after free stacks gave up theirs.
    #[cold]
    pub(crate) fn lacks_block(&mut self) -> bool {
        let mut free = self.context().free_stacks;
        self.stacks.make_block_spare(&mut free);
        self.context_mut().free_stacks = free;
        self.stacks.is_table_full()
    }
}

/// Appends a list of free stacks to another, which is not empty. Returns the length of that.
///
/// # Safety
///
/// Both must be lists that end in null.
unsafe fn append(mut list: *mut ControlBlock, after: *mut ControlBlock) -> usize {
    let mut count = 1;
    // SAFETY: the caller's promise.
    unsafe {
        while !(*list).next_free.is_null() {
            list = (*list).next_free;
            count += 1;
        }
        (*list).next_free = after;
    }
    count
}
