//! The first-class stacks that a stack owns: in its frames, among its arguments and bound values,
//! and in its walks.

use crate::heap::Object;
use crate::inspect::frames::{Frame, Frames};
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{StackKind, is_stack};

/// References to first-class stacks whose owner is gone. If there is no memory to list one, nothing
/// refers to it anymore, and the next collection frees it.
#[derive(Default)]
pub(crate) struct OwnedList(Vec<u64>);

impl OwnedList {
    /// Adds a word, if it is a reference to a first-class stack.
    fn add(&mut self, word: u64) {
        self.note(word);
    }

    /// As [`add`](Self::add). Returns whether the word was added.
    fn note(&mut self, word: u64) -> bool {
        let is_noted = is_first_class(word) && self.0.try_reserve(1).is_ok();
        if is_noted {
            self.0.push(word);
        }
        is_noted
    }

    pub fn pop(&mut self) -> Option<u64> {
        self.0.pop()
    }
}

impl Store {
    /// Lists the stacks that a stack owns, which is about to be freed. Some references may be null
    /// or stale.
    ///
    /// # Safety
    ///
    /// The stack must be alive, and not run generated code.
    pub(super) unsafe fn take_owned(&mut self, stack: *mut ControlBlock, owned: &mut OwnedList) {
        // SAFETY: the caller's promise.
        let block = unsafe { &*stack };
        if block.owns {
            Frames::of_suspended(self, block).for_each(|frame| take(&frame, 0, owned));
        }
        self.visit_arguments(block, |argument| owned.add(*argument));
        self.visit_bound(block, |bound| owned.add(*bound));
        if block.marks > 0 {
            let number = self.stacks.number(stack);
            let marks = self.stacks.marks.counted(number, block.marks.into());
            marks.iter().flat_map(|mark| mark.taken()).for_each(|taken| owned.add(taken));
        }
    }

    /// Frees the first-class stacks among the bound values of a stack, which are dropped next.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new.
    pub(crate) unsafe fn free_bound(&mut self, stack: *mut ControlBlock) {
        let mut owned = OwnedList::default();
        // SAFETY: the caller's promise.
        self.visit_bound(unsafe { &*stack }, |bound| owned.add(*bound));
        self.free_owned(owned);
    }

    /// Lists the stacks that the frames inside of a handler's frame own, and those that the
    /// handler's frame owns beyond the first `kept` ones.
    ///
    /// # Safety
    ///
    /// The stack must be alive, not run generated code, and have the frame.
    pub(crate) unsafe fn owned_inside(
        &self,
        stack: *mut ControlBlock,
        fp: usize,
        kept: usize,
    ) -> OwnedList {
        let mut owned = OwnedList::default();
        // SAFETY: the caller's promise.
        let block = unsafe { &*stack };
        if !block.owns {
            return owned;
        }
        for frame in Frames::of_host_call(self, block) {
            let is_last = frame.fp == fp;
            take(&frame, if is_last { kept } else { 0 }, &mut owned);
            if is_last {
                break;
            }
        }
        owned
    }
}

/// Lists the stacks that a frame owned, except the first ones, and removes them from objects.
fn take(frame: &Frame<'_>, kept: usize, owned: &mut OwnedList) {
    for word in frame.owned(kept) {
        if is_stack(word) {
            owned.add(word);
            continue;
        }
        // SAFETY: the words listed for a call are references of the store.
        let Some(object) = (unsafe { Object::from_reference(word) }) else { continue };
        object.visit_references(|field| {
            if owned.note(*field) {
                *field = 0;
            }
        });
    }
}

pub(super) fn is_first_class(word: u64) -> bool {
    is_stack(word) && StackKind::of(word) == Some(StackKind::FirstClass)
}
