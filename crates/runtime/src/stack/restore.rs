//! Reads and restores the table of stacks for [snapshots](crate::snapshot). Blocks keep their
//! numbers, because references name them.

use super::arena::RootStack;
use super::growth::NoRoom;
use super::park::{PackedHead, parked_sp};
use super::table::Stacks;
use crate::os::dirty_pages::Region;
use crate::os::mapping::Map;
use crate::stack::walk_mark::Mark;
use anyhow::Result;
use ropewalk_abi::stack::{GROUPED, NEXT_GENERATION};
use ropewalk_abi::{ControlBlock, PARKED};
use std::ptr;

impl Stacks {
    /// The memory of the blocks that may be in use.
    pub fn region(&self) -> Option<Region> {
        let table = self.blocks.as_ref()?;
        let first = self.base() as usize + size_of::<ControlBlock>();
        Some(Region::new(table.addresses(), first..first + self.len() * size_of::<ControlBlock>()))
    }

    pub fn restore_blocks(&mut self, count: usize) -> Result<()> {
        debug_assert_eq!(self.len(), 0, "the store is new");
        for _ in 0..count {
            let number = self.next_number().map_err(no_room)?;
            // SAFETY: the block lies in the table.
            unsafe { self.block(number).write(ControlBlock::BLANK) };
        }
        Ok(())
    }

    /// Restores a block without a stack, and the reference that it continues with. If that is the
    /// last one, the block is retired. Until the block is reused, a reference to it may exist.
    pub fn restore_vacant(&mut self, number: usize, reference: u64) {
        if reference.checked_add(NEXT_GENERATION).is_none() {
            return self.retired.push(number);
        }
        // SAFETY: blocks of the table are always initialized.
        unsafe { (*self.block(number)).reference = reference };
        self.spare.push(number);
    }

    pub fn fits_slot(&self, bytes: usize) -> bool {
        // The highest cache lines are never used.
        bytes + super::table::COLORS * 64 + super::table::ABOVE_TOP <= self.slots.usable()
    }

    /// Restores a parked stack. The links of its frames lead to where they would be if the frames
    /// ended at `end`.
    pub fn restore_parked(
        &mut self,
        number: usize,
        block: ControlBlock,
        frames: &[u8],
        end: usize,
    ) -> Result<()> {
        let above = self.above_top(number);
        let head = PackedHead::new(end - frames.len(), frames.len() as u32, above as u32);
        let piece = self.packed.take(head.size());
        let piece = piece.ok_or_else(|| no_room(NoRoom::Machine(head.size())))?;
        // SAFETY: the piece has room for the header and the frames.
        unsafe {
            piece.cast().write(head);
            let place = piece.as_ptr().add(size_of::<PackedHead>());
            ptr::copy_nonoverlapping(frames.as_ptr(), place, frames.len());
        }
        let is_alone = ptr::eq(block.innermost, self.block(number));
        let is_grouped = match block.takes_calls_on_top() && is_alone {
            true => GROUPED,
            false => block.is_grouped,
        };
        let block = ControlBlock {
            sp: parked_sp(),
            top: end - size_of::<usize>(),
            limit: PARKED,
            high: piece.addr().get(),
            is_grouped,
            ..block
        };
        // SAFETY: the block is in the table.
        unsafe { self.block(number).write(block) };
        self.parked += 1;
        self.check_room()
    }

    /// Restores a stack with memory of its own and no frames.
    pub fn restore_slot(&mut self, number: usize, block: ControlBlock) -> Result<()> {
        let (limit, high) = self.take_slot().map_err(no_room)?;
        let top = high - self.above_top(number);
        let block = ControlBlock { sp: top, top, limit, high, ..block };
        // SAFETY: the block is in the table.
        unsafe { self.block(number).write(block) };
        self.has_memory(number);
        Ok(())
    }

    /// Restores a root without frames.
    pub fn restore_root(&mut self, number: usize, block: ControlBlock, memory: Map) -> RootStack {
        let place = self.block(number);
        let root = RootStack::new(place, block.reference, memory);
        self.roots += 1;
        // SAFETY: the block is in the table, and has just got its memory.
        unsafe {
            let ControlBlock { sp, top, limit, high, .. } = *place;
            place.write(ControlBlock { sp, top, limit, high, ..block });
        }
        root
    }

    pub fn restore_marks(&mut self, number: usize, marks: Vec<Mark>) -> Result<()> {
        let count = u16::try_from(marks.len()).map_err(|_| no_room(NoRoom::Marks))?;
        // SAFETY: blocks of the table are always initialized.
        unsafe { (*self.block(number)).marks = count };
        self.marks.restore(number, marks)?;
        self.check_room()
    }

    fn check_room(&self) -> Result<()> {
        match self.taken() > self.options.memory {
            true => Err(no_room(NoRoom::Sum(self.options.memory))),
            false => Ok(()),
        }
    }
}

fn no_room(reason: NoRoom) -> anyhow::Error {
    anyhow::anyhow!("cannot restore all stacks: {reason}")
}
