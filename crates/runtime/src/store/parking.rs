//! Decides when stacks are parked and unparked.
//!
//! [`park`](crate::stack) packs the frames of a stack, and [`idle`](crate::stack) chooses stacks.
//! Stacks are parked before the store gets more slots than it needs, at collections, and at the
//! host's request.

use crate::stack::{Park, SavedPosition, members};
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};
use std::collections::TryReserveError;
use std::{iter, ptr};

impl Store {
    /// Parks suspended and new stacks. Returns how many were parked: none if there is no memory for
    /// the scan.
    pub(crate) fn park_stacks(&mut self, which: Park) -> usize {
        let Ok(busy) = self.busy_stacks() else { return 0 };
        let Ok(mut chosen) = self.stacks.begin_look(busy.len()) else { return 0 };
        busy.into_iter().for_each(|stack| self.stacks.leave_alone(stack));
        self.stacks.choose_idle(which, &mut chosen);
        let before = self.stacks.parked;
        for outermost in chosen {
            // SAFETY: the chosen stacks are suspended or new.
            unsafe { self.park_group(outermost) };
        }
        self.stacks.parked - before
    }

    /// The stacks that run or wait, and those suspended with a root. They are not parked.
    fn busy_stacks(&self) -> Result<Vec<*const ControlBlock>, TryReserveError> {
        let mut busy = Vec::new();
        for stack in self.stacks_in_host_calls() {
            busy.try_reserve(1)?;
            busy.push(ptr::from_ref(stack));
        }
        for root in self.running.roots_in_use().map(|root| root.block) {
            // SAFETY: blocks of roots are alive. A root is the outermost of the stacks suspended
            // with it.
            for stack in unsafe { members(root) }.filter(|stack| *stack != root) {
                busy.try_reserve(1)?;
                busy.push(stack.cast_const());
            }
        }
        Ok(busy)
    }

    /// Parks a stack and those suspended with it. Parks none if the frames of one do not fit into a
    /// slot, or there is no memory.
    ///
    /// # Safety
    ///
    /// It must be the outermost of suspended stacks, or new, and not parked.
    unsafe fn park_group(&mut self, outermost: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe {
            let group = || members(outermost);
            if !group().all(|stack| self.stacks.fits_into_slot(&*stack)) {
                return group().for_each(|stack| self.stacks.trim_grown(&mut *stack));
            }
            for (parked, stack) in group().enumerate() {
                let is_plain = self.is_plain(&*stack);
                if !self.stacks.park(&mut *stack, is_plain) {
                    // The stacks that are already parked have left slots.
                    return group().take(parked).for_each(|stack| self.stacks.unpark(&mut *stack));
                }
            }
        }
    }

    /// Whether the collector finds nothing on a suspended or new stack.
    ///
    /// # Safety
    ///
    /// The stack must be in that state, and not parked.
    unsafe fn is_plain(&mut self, stack: &ControlBlock) -> bool {
        if stack.marks > 0 || stack.owns {
            return false;
        }
        // SAFETY: the caller's promise.
        let left = unsafe { SavedPosition::of(stack) };
        if stack.fp == 0 {
            return stack.sp == stack.top;
        }
        // SAFETY: such a stack has the address to continue at on top.
        if unsafe { self.bound(stack) }.is_some() {
            return false;
        }
        // SAFETY: as above.
        let mut pc = unsafe { *(left.sp as *const usize) };
        let mut fp = left.fp;
        while fp != 0 {
            if !self.is_plain_site(pc) {
                return false;
            }
            // SAFETY: `fp` is a link of the chain, so a saved frame pointer and a return address
            // are there.
            (pc, fp) = unsafe { (*((fp + 8) as *const usize), *(fp as *const usize)) };
        }
        true
    }

    fn is_plain_site(&mut self, pc: usize) -> bool {
        if let Some(is_plain) = self.stacks.call_sites.get(pc) {
            return is_plain;
        }
        // A call can be the last instruction of the code.
        let site = self.objects.module_at(pc - 1).and_then(|(module, offset)| {
            let tables = module.code.tables();
            Some((tables, tables.site_at(offset + 1)?))
        });
        let is_plain = site.is_none_or(|(tables, site)| {
            tables.references_of(site).is_empty() && tables.owned_of(site).is_empty()
        });
        self.stacks.call_sites.set(pc, is_plain);
        is_plain
    }

    // ---- unparking

    /// Unparks a stack that is about to run, and its parents, as far as they are parked.
    ///
    /// # Safety
    ///
    /// Its parents must be those that it will run with.
    pub(crate) unsafe fn unpark_running(
        &mut self,
        innermost: *mut ControlBlock,
    ) -> Result<(), TrapCode> {
        // SAFETY: the caller's promise.
        unsafe {
            let parked = iter::successors(Some(innermost), |stack| Some((**stack).parent));
            let parked = parked.take_while(|stack| (**stack).is_parked());
            self.unpark_first(innermost, parked.count())
        }
    }

    /// Unparks the stacks that are suspended up to one, if it is parked.
    ///
    /// # Safety
    ///
    /// The stack must be the outermost of suspended ones, or new.
    pub(crate) unsafe fn unpark_group(
        &mut self,
        outermost: *mut ControlBlock,
    ) -> Result<(), TrapCode> {
        // SAFETY: the caller's promise.
        unsafe {
            if !(*outermost).is_parked() {
                return Ok(());
            }
            self.unpark_first((*outermost).innermost, members(outermost).count())
        }
    }

    /// Unparks a stack and its parents, `count` stacks in all.
    ///
    /// # Safety
    ///
    /// They must be parked.
    unsafe fn unpark_first(
        &mut self,
        innermost: *mut ControlBlock,
        count: usize,
    ) -> Result<(), TrapCode> {
        if count == 0 {
            return Ok(());
        }
        self.make_slots_ready(count)?;
        let mut stack = innermost;
        for _ in 0..count {
            // SAFETY: the caller's promise.
            unsafe {
                self.stacks.unpark(&mut *stack);
                stack = (*stack).parent;
            }
        }
        Ok(())
    }

    /// Makes slots ready: first those of free stacks, whose memory is in use, then those of idle
    /// stacks, then new ones.
    fn make_slots_ready(&mut self, count: usize) -> Result<(), TrapCode> {
        while !self.stacks.has_ready(count) {
            let mut free = self.context().free_stacks;
            if self.stacks.take_from_free(&mut free) {
                self.context_mut().free_stacks = free;
                continue;
            }
            self.park_if_needed();
            self.stacks.make_slot_ready()?;
        }
        Ok(())
    }

    /// Parks idle stacks before the store gets another slot, if a scan is due.
    pub(crate) fn park_if_needed(&mut self) {
        if self.stacks.should_park() && !self.stacks.allow_turns() {
            self.park_stacks(Park::Unused);
            self.stacks.set_allowance();
        }
        self.park_if_out_of_slots();
    }

    /// If the store can have no other slot, parks all stacks that can be parked.
    pub(crate) fn park_if_out_of_slots(&mut self) {
        if self.stacks.is_out_of_slots() {
            self.stacks.give_back_unused();
        }
        if self.stacks.is_out_of_slots() {
            self.park_stacks(Park::All);
        }
    }

    /// After a collection: parks idle stacks, if there are many slots.
    pub(crate) fn park_after_collection(&mut self) {
        if self.stacks.has_many_slots() {
            self.park_stacks(Park::Unused);
            self.stacks.reset_allowance();
        }
    }
}

/// Unparks the stack that was switched to. Returns nonzero if the activation ends.
///
/// # Safety
///
/// The stub must have been entered by a switch to a parked stack of the store.
pub(crate) unsafe extern "C" fn unpark_running(
    context: *mut StoreContext,
    block: *mut ControlBlock,
) -> u64 {
    // SAFETY: generated code holds no reference to the store.
    let store = unsafe { Store::from_context(context) };
    // SAFETY: the switch has linked the stack to those that it runs with.
    match unsafe { store.unpark_running(block) } {
        Ok(()) => 0,
        Err(code) => {
            store.set_ending(Ending::Trap(code));
            1
        }
    }
}
