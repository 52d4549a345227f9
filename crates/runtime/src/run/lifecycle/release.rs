//! Frees stacks: after a trap or an exception, and when their owners give them up.

use super::owned::OwnedList;
use crate::stack::{InjectedBug, Park};
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::{NEXT_GENERATION, Purpose, StackKind, block_number};
use std::ptr;
use std::sync::atomic::Ordering;

impl Store {
    /// Frees the running stack and its parents up to another, which then runs.
    pub(crate) fn release_running(&mut self, until: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: running stacks and their parents are alive, and the other one is among them.
        unsafe { self.release_chain(running, until) };
        self.context_mut().stack = until;
    }

    /// Frees a stack, its parents below `until`, and the stacks that they own. A root among them
    /// stays with its activation, which can then only end by a trap.
    ///
    /// # Safety
    ///
    /// They must be alive, and none run generated code. `until` must be among the parents, or be
    /// the parent of bases.
    pub(crate) unsafe fn release_chain(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
    ) {
        let mut owned = OwnedList::default();
        // SAFETY: the caller's promise.
        unsafe { self.free_chain(innermost, until, Some(&mut owned)) };
        self.free_owned(owned);
    }

    /// Frees a stack that has trapped and its parents below `until`. A
    /// [collection](Self::collect_lost) frees what they owned.
    ///
    /// # Safety
    ///
    /// As for [`release_chain`](Self::release_chain), except that they may run generated code.
    pub(crate) unsafe fn free_trapped(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.free_chain(innermost, until, None) };
    }

    /// Frees first-class stacks whose owner is gone, the stacks that those own, and so on.
    pub(crate) fn free_owned(&mut self, mut owned: OwnedList) {
        let no_parent = self.running.no_parent();
        while let Some(reference) = owned.pop() {
            let Ok(block) = self.consume(reference, StackKind::FirstClass) else { continue };
            // SAFETY: a valid reference named the base of suspended stacks.
            unsafe { self.free_chain((*block).innermost, no_parent, Some(&mut owned)) };
        }
    }

    /// Frees a stack and its parents below `until`. Adds the stacks that they own to a list, if
    /// there is one.
    ///
    /// # Safety
    ///
    /// As for [`release_chain`](Self::release_chain). Without a list, they may run.
    unsafe fn free_chain(
        &mut self,
        innermost: *mut ControlBlock,
        until: *mut ControlBlock,
        mut owned: Option<&mut OwnedList>,
    ) {
        let mut stack = innermost;
        while stack != until {
            if let Some(owned) = owned.as_deref_mut() {
                // SAFETY: the caller's promise.
                unsafe { self.take_owned(stack, owned) };
            }
            // SAFETY: the caller's promise.
            let block = unsafe { &mut *stack };
            let parent = block.parent;
            match block.purpose {
                Purpose::Root => {
                    block.become_spent();
                    self.stacks.forget_marks(stack);
                }
                _ => {
                    let mut free = self.context().free_stacks;
                    self.stacks.free(block, &mut free);
                    self.context_mut().free_stacks = free;
                }
            }
            stack = parent;
        }
    }

    /// Frees the running stack and its parents up to and including another. The frames stay intact
    /// until the stack is used again.
    ///
    /// # Safety
    ///
    /// The other one must be the running stack or one of its parents.
    pub(crate) unsafe fn release_up_to(&mut self, block: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: the caller's promise.
        unsafe { self.release_chain(running, (*block).parent) };
    }

    /// Frees a suspended task or fiber, and the stacks suspended with it.
    ///
    /// # Safety
    ///
    /// It must be suspended, so that it has no parent.
    pub(crate) unsafe fn release_suspended(&mut self, block: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe { self.release_chain((*block).innermost, ptr::null_mut()) };
    }

    /// Frees the stacks of the newest activation, which has not returned: the running stack with
    /// its parents, their extender, and the stacks suspended with the root.
    ///
    /// After an exception, the first-class stacks that they own are freed too. A trap can happen in
    /// the middle of an instruction, where ownership is unknown. Then a
    /// [collection](Self::collect_lost) finds these stacks.
    pub(crate) fn end_abruptly(&mut self, by_exception: bool) {
        let injected = self.options.stacks.injected;
        assert!(!injected.is(InjectedBug::EndingPanics), "an injected bug");
        let no_parent = self.running.no_parent();
        let root = self.running.roots.newest().expect("an activation ends");
        let running = self.context().stack;
        // SAFETY: running stacks are alive. So are an extender and its parents, and the stacks
        // suspended with a root.
        unsafe {
            let extender = (*self.running.base_of(running)).extender;
            let mut owned = OwnedList::default();
            let mut free = |innermost| {
                let owned = by_exception.then_some(&mut owned);
                self.free_chain(innermost, no_parent, owned);
            };
            free(running);
            if !extender.is_null() {
                free(extender);
            }
            let innermost = (*root).innermost;
            match (*root).is_spent() {
                true => self.free_chain(innermost, root, None),
                false => free(innermost),
            }
            self.free_owned(owned);
            (*root).become_idle(no_parent);
        }
        self.use_up_root();
    }

    /// Frees the first-class stacks that the stacks of a trapped activation owned. Nothing refers
    /// to them anymore.
    #[cold]
    pub(crate) fn collect_lost(&mut self) {
        if self.objects.has_stackrefs() && self.stacks.has_first_class() {
            // Without memory for a collection, the next one frees them.
            let _ = self.collect_garbage(0);
        }
    }

    /// Invalidates references to the root of the newest activation.
    fn use_up_root(&mut self) {
        let root = self.running.roots.newest().expect("an activation ends");
        // SAFETY: blocks of roots are alive.
        let root = unsafe { &mut *root };
        match root.reference.checked_add(NEXT_GENERATION) {
            Some(next) => root.reference = next,
            None => {
                let root = self.running.roots.take_newest();
                self.stacks.retire_root(&root);
            }
        }
    }

    /// Frees continuations whose owners were dropped while the store was not accessible.
    #[inline]
    pub fn free_released(&mut self) {
        if self.running.released.any.load(Ordering::Acquire) {
            self.free_all_released();
        }
    }

    #[cold]
    fn free_all_released(&mut self) {
        let mut references =
            self.running.released.references.lock().expect("no panic while it is locked");
        let all = std::mem::take(&mut *references);
        self.running.released.any.store(false, Ordering::Relaxed);
        drop(references);
        all.into_iter().for_each(|reference| self.free_held(reference));
    }

    /// Parks all suspended and new stacks, and gives their memory back. Returns how many were
    /// parked.
    pub fn park_idle(&mut self) -> usize {
        self.free_released();
        if self.running.is_poisoned() {
            return 0;
        }
        let parked = self.park_stacks(Park::All);
        self.stacks.trim(self.context().free_stacks, 0);
        parked
    }

    /// Frees a continuation that the host owns.
    pub fn free_held(&mut self, reference: u64) {
        let Some(block) = self.stacks.valid(reference) else { return };
        if self.running.is_poisoned() || !self.stacks.host_owned.remove(block_number(reference)) {
            return;
        }
        // The host was the only owner, so the next computation on the stack can use the reference.
        // SAFETY: what the host held is suspended or new, up to this block.
        unsafe {
            (*block).parent = ptr::null_mut();
            self.release_suspended(block);
        }
    }
}
