//! What a stack owns: the first-class stacks in its frames, among the values that it
//! was made with or that are bound to it, and those that its walks have taken.

use crate::frames::{Frame, Frames};
use crate::heap::Object;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{StackKind, is_stack};

impl Store {
    /// Adds references to what a stack owns that is about to be freed. Some may be
    /// null or stale.
    ///
    /// # Safety
    ///
    /// The stack must be alive and not run generated code.
    pub(super) unsafe fn take_owned(&mut self, stack: *mut ControlBlock, owned: &mut Vec<u64>) {
        // SAFETY: the caller's promise.
        let block = unsafe { &*stack };
        if block.owns {
            Frames::of_suspended(self, block).for_each(|frame| take(owned_by(&frame, 0), owned));
        }
        self.visit_arguments(block, |argument| owned.extend(first_class(*argument)));
        self.visit_bound(block, |bound| owned.extend(first_class(*bound)));
        if block.marks > 0 {
            let number = self.stacks.number_of(stack).expect("a block of the table");
            let marks = self.stacks.marks.counted(number, block.marks.into());
            owned.extend(marks.iter().flat_map(|mark| mark.taken()));
        }
    }

    /// Frees the first-class stacks among the values that are bound to a stack, which
    /// are about to be dropped.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new.
    pub(crate) unsafe fn free_bound(&mut self, stack: *mut ControlBlock) {
        let mut owned = Vec::new();
        // SAFETY: the caller's promise.
        self.visit_bound(unsafe { &*stack }, |bound| owned.extend(first_class(*bound)));
        self.free_owned(owned);
    }

    /// What the frames of a stack own from the newest one up to that of a handler,
    /// where an exception lands; of what that frame owns, as many stay.
    ///
    /// # Safety
    ///
    /// The stack must be alive and not run generated code, and the frame be there.
    pub(crate) unsafe fn owned_inside(
        &self,
        stack: *mut ControlBlock,
        fp: usize,
        kept: usize,
    ) -> Vec<u64> {
        let mut owned = Vec::new();
        // SAFETY: the caller's promise.
        let block = unsafe { &*stack };
        if !block.owns {
            return owned;
        }
        for frame in Frames::of_host_call(self, block) {
            let is_last = frame.fp == fp;
            take(owned_by(&frame, if is_last { kept } else { 0 }), &mut owned);
            if is_last {
                break;
            }
        }
        owned
    }
}

/// What a frame owns, but for the first ones: references to stacks, and to objects with
/// those of its locals.
pub(crate) fn owned_by(frame: &Frame<'_>, kept: usize) -> Vec<u64> {
    let Some((image, site, sp)) = frame.site() else { return Vec::new() };
    let left = image.owned_of(site).iter().skip(kept);
    // SAFETY: the list of the call says that a reference is there, and the frame is
    // suspended.
    left.map(|offset| unsafe { *((sp + *offset as usize) as *const u64) }).collect()
}

/// Adds the stacks that a frame owned, and takes them out of objects.
fn take(words: Vec<u64>, owned: &mut Vec<u64>) {
    for word in words {
        if is_stack(word) {
            owned.extend(first_class(word));
            continue;
        }
        // SAFETY: what is listed for a call is a reference of the store.
        let Some(object) = (unsafe { Object::from_reference(word) }) else { continue };
        object.visit_references(|field| {
            if first_class(*field).is_some() {
                owned.push(std::mem::take(field));
            }
        });
    }
}

/// A word, if it is a reference to a first-class stack.
pub(super) fn first_class(word: u64) -> Option<u64> {
    (is_stack(word) && StackKind::of(word) == Some(StackKind::FirstClass)).then_some(word)
}
