//! Continuations that the host makes, resumes and frees.
//!
//! The host resumes from the root of an activation of its own. The root waits for the continuation
//! like a stack that has executed `resume`. It has clauses that the host has chosen, and continues
//! at the stub [`come_back`](crate::arch::stubs::come_back):
//!
//! ```text
//!   host's stack                     root                      continuation
//!   | activation::activate  |        | come_back |  <- parent - | frames           |
//!   |   enter_stack's record|          ^ sp; handlers           | a suspend        |
//!     ^ host_sp                                                   ^ rsp
//! ```
//!
//! A suspension or a return switches to the root, as to any parent. `come_back` leaves the results
//! in the store, and returns from `enter_stack`.
//!
//! Only the host has a reference to a continuation that it owns. The collector keeps the stacks
//! alive until the owner resumes or drops it.

use crate::arch::stubs;
use crate::host::switch::continue_from;
use crate::report::backtrace::Backtrace;
use crate::run::activation::{Stop, activate, activate_on};
use crate::stack::{SavedPosition, round_limit};
use crate::store::Store;
use crate::store::pending_activations::ActivationNumber;
use crate::store::running::{NO_POLLER, Poller};
use crate::vm::dropped_continuations::Released;
use ropewalk_abi::builtin::{CATCH, Outcome};
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{
    EVERY_TAG, KIND_MASK, NEXT_GENERATION, Purpose, StackKind, block_number, kind_bits,
    tag_of_handler,
};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{ControlBlock, FuncRef, Passage, RawVal, StoreContext, TagDef, TrapCode};
use std::collections::TryReserveError;
use std::ffi::c_void;
use std::num::NonZeroU64;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The result of resuming a continuation. Its values are in the transfer area.
#[derive(Clone, Copy, Debug)]
pub enum CameBack {
    /// Its function returned.
    Returned,
    /// It suspended with a tag.
    Suspended {
        /// The tag.
        tag: NonNull<TagDef>,
        /// The suspended continuation, which the host owns.
        reference: u64,
    },
}

/// Resumes a continuation that the host owns, with the values in the transfer area and with
/// clauses. Afterwards [`Store::came_back`] returns the result.
///
/// # Safety
///
/// The host must own the reference, and the values have the types that the continuation expects.
/// The clauses must not move until the activation has ended, and the poller be valid until this
/// returns. Nothing but the store may be borrowed.
#[inline]
pub unsafe fn resume<W: AsRef<[u64]>>(
    store: NonNull<Store>,
    reference: u64,
    handlers: &List<W>,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: the caller's promise.
    unsafe { resume_by(store, reference, handlers.as_ptr(), poller) }
}

/// As [`resume`], with a single clause of a tag, for a host that cannot wait. Returns the suspended
/// continuation, which the host owns, or `None` if its function returned.
///
/// The result is in registers. This is not inlined, so its callers are short.
///
/// # Safety
///
/// As for [`resume`].
pub unsafe fn resume_for_one(
    mut store: NonNull<Store>,
    reference: u64,
    handlers: &List<[u64; 5]>,
) -> anyhow::Result<Option<NonZeroU64>> {
    // SAFETY: the caller's promise.
    unsafe {
        resume_by(store, reference, handlers.as_ptr(), NO_POLLER).map_err(Stop::into_error)?;
        Ok(store.as_mut().came_back_suspended())
    }
}

/// As [`resume`], with clauses at an address.
///
/// # Safety
///
/// As for [`resume`].
#[inline(always)]
unsafe fn resume_by(
    store: NonNull<Store>,
    reference: u64,
    handlers: *const u64,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: the caller's promise. The caller has the store borrowed.
    unsafe {
        let stopped = match store.as_ref().running.extra.before_switch {
            false => resume_unwatched(store, reference, handlers, poller),
            true => resume_watched(store, reference, handlers, poller),
        };
        end_limit(store, reference, &stopped);
        stopped
    }
}

/// As [`resume`], where some mode adds work before a stack continues.
///
/// # Safety
///
/// As for [`resume`].
#[cold]
unsafe fn resume_watched(
    store: NonNull<Store>,
    reference: u64,
    handlers: *const u64,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: the root waits for the continuation. The rest is the caller's promise.
    unsafe {
        activate_held(store, reference, poller, |context, root| {
            continue_from(context, root, handlers, |store| {
                let block = store.consume_held(reference, StackKind::Continuation)?;
                (*block).parent = root;
                Ok(((*block).ungroup(), 0))
            })
        })
    }
}

/// As [`resume`], where no mode adds work. Stacks are linked before the activation begins, so that
/// little happens in between.
///
/// # Safety
///
/// As for [`resume`].
#[inline(always)]
unsafe fn resume_unwatched(
    mut store: NonNull<Store>,
    reference: u64,
    handlers: *const u64,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: the caller's promise. The root is idle, and blocks are alive.
    unsafe {
        let inner = store.as_mut();
        let root = match inner.root_for_activation() {
            Ok(root) => root,
            Err(error) => {
                inner.free_held(reference);
                return Err(error.into());
            }
        };
        (*root).wait_for_host(stubs::come_back as *const c_void, handlers);
        let block = match inner.consume_held(reference, StackKind::Continuation) {
            Ok(block) => block,
            Err(code) => return refuse(store, root, poller, code),
        };
        (*block).parent = root;
        let to = (*block).ungroup();
        let enter = |context, _| stubs::enter_stack(context, to, 0, (*to).reference);
        activate_on(store, root, poller, enter).map(drop)
    }
}

/// Makes an activation trap that cannot continue the continuation.
///
/// # Safety
///
/// As for [`activate_on`].
#[cold]
unsafe fn refuse(
    store: NonNull<Store>,
    root: *mut ControlBlock,
    poller: Poller,
    code: TrapCode,
) -> Result<(), Stop> {
    // SAFETY: the caller's promise.
    unsafe {
        let trap = |context, _| Store::from_context(context).end_with(code);
        activate_on(store, root, poller, trap).map(drop)
    }
}

/// As [`Store::end_limit`], after an activation that may be pending.
///
/// # Safety
///
/// Nothing but the store may be borrowed.
#[inline]
unsafe fn end_limit<R>(mut store: NonNull<Store>, reference: u64, stopped: &Result<R, Stop>) {
    // SAFETY: the caller has the store borrowed.
    let store = unsafe { store.as_mut() };
    if !store.stacks.limits.is_empty() {
        store.settle_limit(reference, stopped.as_ref().err());
    }
}

/// Resumes a continuation that the host owns by throwing an exception in it.
///
/// # Safety
///
/// As for [`resume`]. The exception must be one of the store.
pub unsafe fn resume_throw<W: AsRef<[u64]>>(
    store: NonNull<Store>,
    reference: u64,
    exception: u64,
    handlers: &List<W>,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: as in `resume`.
    let stopped = unsafe {
        activate_held(store, reference, poller, |context, root| {
            (*root).wait_for_host(stubs::come_back as *const c_void, handlers.as_ptr());
            let store = Store::from_context(context);
            match store.consume_held(reference, StackKind::Continuation) {
                Ok(block) => {
                    (*block).parent = root;
                    let innermost = (*block).ungroup();
                    if store.running.extra.before_switch {
                        store.watch_switch(innermost);
                    }
                    if let Err(code) = store.unpark_running(innermost) {
                        return store.end_with(code);
                    }
                    (*context).stack = innermost;
                    store.drop_bound(innermost);
                    match store.throw(exception).ended {
                        CATCH => stubs::enter_landing(context, exception),
                        _ => Outcome::END,
                    }
                }
                Err(code) => store.end_with(code),
            }
        })
    };
    // SAFETY: the caller has the store borrowed.
    unsafe { end_limit(store, reference, &stopped) };
    stopped
}

/// As [`activate`], to continue a stack that the host owns. If the activation does not begin, the
/// stack is freed, because its owner has given it away.
///
/// # Safety
///
/// As for [`activate`].
#[inline]
pub(crate) unsafe fn activate_held(
    mut store: NonNull<Store>,
    reference: u64,
    poller: Poller,
    enter: impl FnOnce(*mut StoreContext, *mut ControlBlock) -> Outcome,
) -> Result<(), Stop> {
    let mut began = false;
    // SAFETY: the caller's promise.
    unsafe {
        let returned = activate(store, poller, |context, root| {
            began = true;
            enter(context, root)
        });
        if !began {
            store.as_mut().free_held(reference);
        }
        returned.map(drop)
    }
}

impl Store {
    /// Consumes the reference to a stack that the host owns. If the stack cannot continue, it is
    /// freed, because its owner has given it away.
    #[inline]
    pub(crate) fn consume_held(
        &mut self,
        reference: u64,
        kind: StackKind,
    ) -> Result<*mut ControlBlock, TrapCode> {
        match self.consume(reference, kind) {
            Ok(block) => {
                self.stacks.host_owned.remove(block_number(reference));
                Ok(block)
            }
            Err(code) => {
                self.free_held(reference);
                Err(code)
            }
        }
    }

    /// The result of an activation with these clauses that has just returned. The host owns the
    /// suspended continuation.
    #[inline]
    pub fn came_back(&mut self, handlers: &[u64]) -> CameBack {
        let Passage { signal, reference, .. } = self.context().passage;
        if signal == 0 {
            return CameBack::Returned;
        }
        let word = match handlers[signal as usize - 1] {
            EVERY_TAG => self.running.suspended_with,
            word => word,
        };
        self.running.last_handled = word;
        self.stacks.host_owned.insert(block_number(reference));
        let tag = NonNull::new(tag_of_handler(word) as *mut TagDef);
        CameBack::Suspended { tag: tag.expect("a clause of a tag"), reference }
    }

    /// As [`came_back`](Self::came_back), for a single clause of a tag. Returns the suspended
    /// continuation, or `None` if its function returned.
    #[inline]
    pub fn came_back_suspended(&mut self) -> Option<NonZeroU64> {
        let Passage { signal, reference, .. } = self.context().passage;
        debug_assert!(signal <= 1);
        if signal == 0 {
            return None;
        }
        self.stacks.host_owned.insert(block_number(reference));
        Some(NonZeroU64::new(reference).expect("a reference to a stack"))
    }

    /// The clauses of a host that handles every tag. The tag that was handled last comes first,
    /// where generated code finds it.
    pub fn every_tag(&self) -> List<[u64; 7]> {
        match self.running.last_handled {
            0 => List::short(EVERY_TAG, 0),
            word => List::short(word, EVERY_TAG),
        }
    }

    /// Makes a continuation of a function. The host owns it.
    ///
    /// # Safety
    ///
    /// The function must belong to the store, and its type have code that calls it on a stack of
    /// its own.
    pub unsafe fn new_held(&mut self, function: NonNull<FuncRef>) -> anyhow::Result<u64> {
        if !self.running.is_plain() {
            // SAFETY: the caller's promise.
            return unsafe { self.new_held_by_runtime(function) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.make_held(function) }
    }

    /// As [`new_held`](Self::new_held), where the creation is traced, or the store is poisoned.
    #[cold]
    unsafe fn new_held_by_runtime(&mut self, function: NonNull<FuncRef>) -> anyhow::Result<u64> {
        self.running.check_usable()?;
        // SAFETY: the caller's promise.
        let reference = unsafe { self.make_held(function) }?;
        self.trace_create(self.stacks.block(block_number(reference)));
        Ok(reference)
    }

    #[inline(always)]
    unsafe fn make_held(&mut self, function: NonNull<FuncRef>) -> anyhow::Result<u64> {
        self.free_released();
        if self.context().free_stacks.is_null() {
            self.new_stack().map_err(|code| self.trap(code))?;
        }
        let block = self.context().free_stacks;
        let start = self.context().start;
        // SAFETY: free stacks have memory. Types live as long as the engine.
        let reference = unsafe {
            self.context_mut().free_stacks = (*block).next_free;
            let entry = (*function.as_ref().ty).entry.load(Ordering::Relaxed);
            (*block).become_continuation(start, function.as_ptr(), entry);
            (*block).reference
        };
        self.stacks.host_owned.insert(block_number(reference));
        Ok(reference)
    }

    /// Copies a stack that the host owns. The host owns the copy too.
    pub fn copy_held(&mut self, reference: u64, kind: StackKind) -> anyhow::Result<u64> {
        self.free_released();
        self.running.check_usable()?;
        let copied = self.copy_suspended(reference, kind);
        let copy = copied.map_err(|code| self.trap(code))?;
        self.stacks.host_owned.insert(block_number(copy));
        // All stacks of a group have the same limit.
        let limit = self
            .stacks
            .valid(reference)
            .and_then(|block| self.stacks.limits.get(self.stacks.number(block)));
        if let Some(bytes) = limit
            && let Err(error) = self.limit_held(copy, bytes)
        {
            self.free_held(copy);
            return Err(error.into());
        }
        Ok(copy)
    }

    /// Makes the host the owner of a stack. Other references to it become invalid. Returns the
    /// valid one.
    pub fn take_held(&mut self, reference: u64, kind: StackKind) -> Result<u64, TrapCode> {
        if let Some(block) = self.stacks.valid(reference)
            // SAFETY: the block of a valid reference is alive.
            && unsafe { (*block).purpose } == Purpose::Root
        {
            // It belongs to its activation.
            return Err(TrapCode::AcrossHostFrame);
        }
        let block = self.consume(reference, kind)?;
        // SAFETY: blocks of the table are alive.
        let reference = unsafe { (*block).reference } | kind_bits(kind);
        self.stacks.host_owned.insert(block_number(reference));
        Ok(reference)
    }

    /// Collects if a reference is the last one of its block, and no other block is available.
    #[inline]
    pub fn make_room_for_block(&mut self, reference: u64) -> anyhow::Result<()> {
        let is_last = (reference & !KIND_MASK).checked_add(NEXT_GENERATION).is_none();
        if is_last && self.lacks_block() {
            self.collect_garbage(0).map_err(|code| self.trap(code))?;
        }
        Ok(())
    }

    /// Ends the host's ownership of a stack. The collector frees it if nothing refers to it.
    pub fn let_go(&self, reference: u64) {
        self.stacks.host_owned.remove(block_number(reference));
        if !self.stacks.limits.is_empty() {
            self.stacks.limits.give_away(reference);
        }
    }

    /// Limits the size of each stack of a continuation that the host owns.
    pub fn limit_held(&mut self, reference: u64, bytes: usize) -> Result<(), TryReserveError> {
        let mut numbers = Vec::new();
        for stack in self.stacks.held(reference) {
            numbers.try_reserve(1)?;
            numbers.extend(self.stacks.number_of(stack));
        }
        self.stacks.limits.end(reference, |_| false);
        self.stacks.limits.set(numbers, round_limit(bytes), reference)
    }

    /// After a continuation that the host has resumed came back or failed: moves its size limit to
    /// the stacks that it has now.
    #[inline]
    pub fn end_limit(&mut self, reference: u64, has_failed: bool) {
        if !self.stacks.limits.is_empty() {
            self.move_limit(reference, has_failed);
        }
    }

    #[cold]
    fn move_limit(&mut self, reference: u64, has_failed: bool) {
        let Passage { signal, reference: rest, .. } = self.context().passage;
        let limit = self.stacks.limits.end(reference, |_| false);
        if let Some(bytes) = limit.filter(|_| !has_failed && signal != 0) {
            // Without memory the continuation stays unlimited.
            let _ = self.limit_held(rest, bytes);
        }
    }

    #[cold]
    fn settle_limit(&mut self, reference: u64, stop: Option<&Stop>) {
        match stop {
            Some(Stop::Pending(number)) => self.keep_limits_of(reference, *number),
            _ => self.move_limit(reference, stop.is_some()),
        }
    }

    /// Removes the limits of a resumed continuation, except those of the stacks that are now
    /// pending.
    fn keep_limits_of(&mut self, reference: u64, number: ActivationNumber) {
        let mut numbers = Vec::new();
        let stack = self.running.pending.get(number).map(|pending| pending.stack);
        // SAFETY: the stacks of an activation are alive as long as the activation.
        let stack = stack.and_then(|stack| unsafe { stack.as_ref() });
        for stack in stack.into_iter().flat_map(|stack| self.running.with_parents(stack)) {
            if numbers.try_reserve(1).is_err() {
                return;
            }
            numbers.extend(self.stacks.number_of(stack));
        }
        numbers.sort_unstable();
        self.stacks.limits.end(reference, |number| numbers.binary_search(&number).is_ok());
    }

    /// The list to which owners add references when they are dropped.
    #[inline]
    pub fn released(&self) -> &Arc<Released> {
        &self.running.released
    }

    /// Whether a reference of any design names a suspended or new stack, and is valid.
    pub fn is_suspended(&self, reference: u64) -> bool {
        let Some(block) = self.stacks.valid(reference) else { return false };
        // SAFETY: the block of a valid reference is alive.
        unsafe { !(*block).purpose.has_identity() || (*block).parent.is_null() }
    }

    /// Frees the suspended or new stacks that a reference of any design names. All references to
    /// them become invalid.
    pub fn release(&mut self, reference: u64) -> Result<(), TrapCode> {
        let kind = StackKind::of(reference).expect("a reference to a stack");
        self.check_target(reference, kind)?;
        if !self.is_suspended(reference) {
            return Err(match kind {
                StackKind::Task => TrapCode::TaskNotSuspended,
                _ => TrapCode::FiberHasParent,
            });
        }
        let block = match kind {
            StackKind::Task | StackKind::Fiber => self.stacks.valid(reference),
            _ => Some(self.consume(reference, kind)?),
        };
        let block = block.expect("the reference is valid");
        // SAFETY: the block of a valid reference is alive, and the chain from its innermost stack
        // leads to it.
        unsafe {
            (*block).parent = ptr::null_mut();
            self.release_suspended(block);
        }
        Ok(())
    }

    /// The bytes in use on the stacks of a continuation that the host owns.
    pub fn held_bytes(&self, reference: u64) -> usize {
        // SAFETY: stacks that the host owns are suspended or new.
        self.stacks.held(reference).map(|stack| unsafe { SavedPosition::depth(stack) }).sum()
    }

    /// The backtrace of a continuation that the host owns.
    pub fn held_backtrace(&self, reference: u64) -> Backtrace {
        Backtrace::of_suspended(self, self.stacks.held(reference))
    }

    /// The values of a switch between the host and a stack.
    pub fn transfer_area(&self) -> *mut RawVal {
        debug_assert!(!self.context().transfer.is_null(), "there is a stack");
        self.context().transfer
    }

    /// Records the classes of the first values in the transfer area, if stacks are checked.
    #[inline]
    pub fn tag_transferred(&mut self, classes: impl FnOnce(&Store) -> Vec<ValueClass>) {
        if self.options.stress.check_stacks {
            self.set_tags(classes);
        }
    }

    #[cold]
    fn set_tags(&mut self, classes: impl FnOnce(&Store) -> Vec<ValueClass>) {
        for (slot, class) in classes(self).into_iter().enumerate() {
            self.set_tag(slot, class);
        }
    }
}
