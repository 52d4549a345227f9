//! The marks that `answer` and the redirections leave on stacks.
//!
//! A stack's block says how many marks it has; what lies behind that in the
//! list is left over from another use of the block. A mark knows how deep in
//! its stack the function was that left it, so that an exception that leaves
//! the function can remove it.

use crate::store::Store;
use ropewalk_abi::{ControlBlock, FuncRef, TagDef, TrapCode};

/// The marks of all stacks, by the number of the block.
#[derive(Debug, Default)]
pub(crate) struct Marks(Vec<Vec<Mark>>);

#[derive(Debug)]
pub(crate) struct Mark {
    /// How far the stack pointer was below the highest address.
    depth: usize,
    pub kind: MarkKind,
}

#[derive(Debug)]
pub(crate) enum MarkKind {
    /// A function answers a call tag.
    Answer { tag: *const TagDef, function: *const FuncRef, env: u64 },
    /// Walks go on in the stack that is the first field of a structure.
    Redirect { boxed: u64 },
    /// Walks go on in the stack that a function tells; afterwards another
    /// function gets it.
    RedirectTo { function: *const FuncRef, taker: *const FuncRef, env: u64 },
    /// A walk that began here is going on.
    Walk(Walk),
}

/// How far a walk has come, and what it has taken on the way.
#[derive(Debug)]
pub(crate) struct Walk {
    pub at: Place,
    pub taken: Vec<Taken>,
}

/// Between two marks of a stack: its block, and how many marks lie below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: usize,
    pub below: usize,
}

/// A stack that a walk went through.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It belongs into the first field of a structure.
    FromBox { boxed: u64, stack: u64 },
    /// It is handed back to a function, which is outside of this place.
    FromFunction { taker: *const FuncRef, env: u64, stack: u64, at: Place },
}

// SAFETY: what the pointers refer to lives as long as the store that has the
// marks.
unsafe impl Send for Marks {}
// SAFETY: as above.
unsafe impl Sync for Marks {}

impl Marks {
    /// The first marks of a stack, as many as it has.
    pub fn of(&mut self, number: usize, count: u16) -> &mut Vec<Mark> {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        let marks = &mut self.0[number];
        marks.truncate(count.into());
        marks
    }

    /// Calls a function with each reference in the marks of a stack.
    pub fn visit(&mut self, number: usize, count: u16, mut visit: impl FnMut(&mut u64)) {
        if count == 0 {
            return;
        }
        for mark in self.of(number, count) {
            match &mut mark.kind {
                MarkKind::Answer { env, .. } | MarkKind::RedirectTo { env, .. } => visit(env),
                MarkKind::Redirect { boxed } => visit(boxed),
                MarkKind::Walk(walk) => walk.taken.iter_mut().for_each(|taken| match taken {
                    Taken::FromBox { boxed, stack } => {
                        [boxed, stack].into_iter().for_each(&mut visit)
                    }
                    Taken::FromFunction { env, stack, .. } => {
                        [env, stack].into_iter().for_each(&mut visit);
                    }
                }),
            }
        }
    }
}

impl Store {
    /// The marks of a stack.
    pub(crate) fn marks_of(&mut self, block: *const ControlBlock) -> &mut Vec<Mark> {
        let number = self.stacks.number_of(block).expect("blocks lie in the table");
        // SAFETY: blocks of the table are always initialised.
        let count = unsafe { (*block).marks };
        self.marks.of(number, count)
    }

    /// Leaves a mark on the running stack.
    pub(crate) fn add_mark(&mut self, kind: MarkKind) -> Result<(), TrapCode> {
        let running = self.context().stack;
        // SAFETY: the running stack's block is alive.
        let block = unsafe { &mut *running };
        let depth = block.high - block.sp;
        let count = block.marks.checked_add(1).ok_or(TrapCode::CallStackExhausted)?;
        // Before the count, which must not cover what is left over.
        self.marks_of(running).push(Mark { depth, kind });
        block.marks = count;
        Ok(())
    }

    /// Removes the newest marks of the running stack until so many are left.
    pub(crate) fn leave_to(&mut self, level: usize) {
        let running = self.context().stack;
        // SAFETY: the running stack's block is alive.
        let block = unsafe { &mut *running };
        block.marks = block.marks.min(level.try_into().unwrap_or(u16::MAX));
    }

    /// Removes the marks of functions above a frame that an exception goes on
    /// in.
    pub(crate) fn leave_marks_above(&mut self, stack: *mut ControlBlock, sp: usize) {
        // SAFETY: the stack that an exception goes on in is alive.
        let block = unsafe { &mut *stack };
        if block.marks == 0 {
            return;
        }
        // A call from the frame has put its return address on the stack.
        let depth = block.high - sp + size_of::<usize>();
        let marks = self.marks_of(stack);
        let left = marks.iter().rposition(|mark| mark.depth <= depth).map_or(0, |last| last + 1);
        block.marks = left as u16;
    }
}
