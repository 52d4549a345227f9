//! The life of a stack: its states, and its control block after each transition.
//!
//! ```text
//!            create                    continue               resume another
//!   Free ------------> New ---------------------> Running -------------------> Waiting
//!    ^ ^                |                          | | ^  <-------------------
//!    | |           free |                 suspend  | | |     that one suspends,
//!    | +----------------+                          | | |     finishes or throws
//!    |                              Suspended <----+ | |
//!    |  free                            |            | | continue
//!    +----------------------------------+------------|-+
//!    |  finish, or an exception or a trap ends it    |
//!    +-----------------------------------------------+
//!
//!                park
//!   New, Suspended ----> Parked      and back when it is continued, or when its frames
//!                  <----             are needed where they were
//!                unpark
//!
//!   Vacant: a block without a stack. Lost: a task or fiber that nothing can continue.
//! ```
//!
//! | state | how to recognize it |
//! | --- | --- |
//! | [`Free`](Life::Free) | `purpose` is `Free`; on the list `StoreContext::free_stacks`; has memory |
//! | [`New`](Life::New) | like a stack that is suspended alone; the word on top of it, above [bound arguments](crate::bound), is the address of the stub `start`, or of `ground` for a blank stack |
//! | [`Suspended`](Life::Suspended) | `reference` is the one that was handed out for it; it is not `StoreContext::stack`, nor a parent of that or of the stack of an outer activation. It is alone if `innermost` is the stack itself |
//! | [`Inside`](Life::Inside) | it is suspended together with an outermost stack: it is the `innermost` of that, or a parent of the `innermost` |
//! | [`Parked`](Life::Parked) | it is new or suspended, and `limit` is `PARKED` or `PARKED_PLAIN`: its frames are packed, and it has no memory. The same holds for all stacks that are suspended inside of it |
//! | [`Running`](Life::Running) | it is `StoreContext::stack`, or the stack of an outer activation, which is in a host call |
//! | [`Waiting`](Life::Waiting) | it is a parent of a running stack, or the `extender` of its base |
//! | [`Idle`](Life::Idle) | a root whose activation does not run; `purpose` is `Root` |
//! | [`Spent`](Life::Spent) | a root that was freed before the end of its activation; `parent` is null |
//! | [`Lost`](Life::Lost) | a task or fiber whose `parent` is `no_parent`, or that is suspended with a spent root and ends with its activation |
//! | [`Vacant`](Life::Vacant) | `purpose` is `Free` and it has no memory: it was never used, given back, freed while it was parked, or *retired* after its last generation |
//!
//! A stack that *finishes* is free at once. A task or fiber that has finished is called *moribund*.
//! That describes a reference, whose generation is earlier than the block's, and not a block.
//!
//! The state of a stack is only in its [`ControlBlock`], with two exceptions. The store
//! keeps its marks, by the number of the block, and moves them together with it. [Bound
//! arguments](crate::bound) are on the stack itself, and move and end with its memory. Each
//! transition is made in one place: generated code makes the frequent ones in line. The runtime
//! makes the others, by the functions here and in its `stack` and `design` folders. After each
//! transition, these fields have meaning:
//!
//! | transition | fields afterwards |
//! | --- | --- |
//! | *create*: off the free list | `sp` at the start address, `fp` zero, `function` and `entry`; `purpose` that of the design; `owns` false; `parent` null for a task or fiber, `no_parent` for a base; no marks, not grouped, `sought` zero; `innermost` itself and `extender` null, as while it was free |
//! | *copy*: off the free list, as a copy of a suspended or new stack | `sp` and `fp` at the places of the original; `handlers`, `function`, `entry`, `purpose`, `owns` and marks those of the original; `innermost` and `parent` the copies of those; of the outermost, the same `parent`; `sought` zero, `through` null |
//! | *suspend*, up to an outermost stack | of the outermost: `innermost` the stack that ran, `is_grouped` if that is another; `parent` null for a task or fiber, `no_parent` for a base, no meaning for a continuation. Of the stacks inside: `parent` unchanged |
//! | *start*, *continue* | of the outermost: `reference` the next generation, unless it is a task or fiber; `innermost` itself; `parent` the stack that resumed it. Of the innermost: `through` the outermost if that is another, otherwise null; `sought` zero unless `through` is unchanged and it has not waited since |
//! | *resume another*, *wait* | `handlers` the clauses; if `is_grouped`, that is `HAS_WAITED`, and `sought` the number of captures before its first wait. Of a root from which the host resumes: also `sp` at the address of the stub `come_back`, `fp` zero |
//! | *hold*: the host owns a suspended or new stack | unchanged; the store records the ownership |
//! | *bind*: arguments are put on the stack that will continue | of the outermost: `reference` the next generation. Of the innermost: `sp` at the head of the bound arguments |
//! | *continue with an exception* | as *continue*; of the innermost: `sp` where it was left, without bound arguments |
//! | *extend* | as *continue*; of the base: `extender` the stack that waits for `stack.start` |
//! | *begin a rout* (`stack.start`) | as *suspend*; of the base: `extender` null |
//! | *own*: a frame makes a call while it owns a first-class stack, or a structure with locals | `owns` true, until the stack is freed |
//! | *land* an exception | the stacks inside are freed, and everything that the unwound frames owned; `sp` and `fp` those of the handler's frame; no marks of the unwound functions; of the base: `extender` null, and a stack that waited there stays suspended forever |
//! | *finish*, *free* | `purpose` `Free`, `owns` false, no marks, `innermost` itself, `extender` null; `reference` of a task or fiber the next generation; on the free list. If it was parked: vacant |
//! | *free*, of a root | as when it was made, except `reference`; `parent` null until its activation ends, which cannot be by a return |
//! | *free*, of owned stacks | the first-class stacks in its frames, bound to it, or taken by its walks are freed too, and everything that those own |
//! | *renew* | another block has all fields and the marks; it is the `parent` of the child, and the `through` of the stacks inside that were continued through the old block; the old block is blank |
//! | *move* | `sp`, `fp`, `top`, `limit`, `high`, and the links in its frames |
//! | *park*: the frames of a suspended or new stack are packed | `limit` `PARKED` or `PARKED_PLAIN`, `high` the place of the packed frames, `sp` at the address of the stub `unpark`; `fp` and `top` unchanged, although another stack has the memory. Of a stack of the bag or a first-class stack that is alone: `is_grouped` |
//! | *unpark* | as before, in other memory, as after *move* |
//! | *lose*: nothing can continue its chain | of a task or fiber that a reference still names: `parent` `no_parent`, `innermost` itself, no marks |
//! | *end an activation* | of its root: as when it was made, except `reference` |
//!
//! A stress mode checks all this after every transition.

use crate::context::{ControlBlock, FuncRef};
use crate::stack::{GROUPED, HAS_WAITED, Purpose};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// The state of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// On the list of free stacks.
    Free,
    /// Made, but not started.
    New,
    /// The outermost of the stacks that are suspended under a reference.
    Suspended,
    /// Suspended together with stacks outside of it.
    Inside,
    /// New or suspended, with packed frames.
    Parked,
    /// It runs, or is in a host call.
    Running,
    /// It waits for a stack that it has resumed or extends.
    Waiting,
    /// A root without an activation.
    Idle,
    /// A root that was freed before the end of its activation.
    Spent,
    /// A task or fiber that can never continue.
    Lost,
    /// A block without a stack.
    Vacant,
}

/// A stack with at most this many bytes below its first word is copied in line. Every free stack
/// has room for as many.
pub const COPIED_IN_LINE: usize = 512;

impl ControlBlock {
    /// *Create*, by the host: a free stack, which is off the list, becomes a new continuation of a
    /// function. `entry` calls the function.
    ///
    /// # Safety
    ///
    /// The stack must have memory, and `start` must be the stub at which stacks start.
    pub unsafe fn become_continuation(
        &mut self,
        start: *const c_void,
        function: *const FuncRef,
        entry: *const c_void,
    ) {
        debug_assert_eq!(self.purpose, Purpose::Free);
        self.be_alone();
        self.sp = self.top;
        self.fp = 0;
        // SAFETY: the caller promises that the memory of the stack is there.
        unsafe { *(self.sp as *mut *const c_void) = start };
        self.function = function;
        self.entry = entry;
        self.purpose = Purpose::Continuation;
        self.marks = 0;
    }

    /// *Copy*: a free stack, which is off the list and already has the frames of another, becomes a
    /// copy of that. It has no marks yet.
    pub fn become_copy(&mut self, of: &ControlBlock, parent: *mut ControlBlock) {
        debug_assert_eq!(self.purpose, Purpose::Free);
        // The copy was not continued through any stack, and has not searched.
        self.be_alone();
        self.parent = parent;
        self.handlers = of.handlers;
        self.purpose = of.purpose;
        self.owns = of.owns;
        self.marks = 0;
        self.function = of.function;
        self.entry = of.entry;
    }

    /// *Wait*, for a stack that the host continues: the root will continue at `come_back`. The host
    /// has the clauses.
    ///
    /// # Safety
    ///
    /// The root must be idle and have memory.
    pub unsafe fn wait_for_host(&mut self, come_back: *const c_void, handlers: *const u64) {
        debug_assert_eq!(self.purpose, Purpose::Root);
        self.sp = self.high - size_of::<usize>();
        self.fp = 0;
        // SAFETY: the caller promises that the memory of the root is there.
        unsafe { *(self.sp as *mut *const c_void) = come_back };
        self.handlers = handlers;
    }

    /// *Suspend*: sets the innermost of the stacks that are suspended together with this one.
    pub fn group(&mut self, innermost: *mut ControlBlock) {
        let is_alone = ptr::eq(innermost, self);
        self.innermost = innermost;
        if !is_alone {
            self.is_grouped = GROUPED;
        }
    }

    /// *Continue*: takes the innermost stack out of the group that was suspended together; returns
    /// it.
    ///
    /// # Safety
    ///
    /// The innermost stack must be alive.
    pub unsafe fn ungroup(&mut self) -> *mut ControlBlock {
        let this = ptr::from_mut(self);
        let innermost = self.innermost;
        debug_assert!(innermost == this || self.is_grouped != 0);
        if innermost == this {
            self.be_alone();
            return this;
        }
        self.innermost = this;
        self.is_grouped = 0;
        // SAFETY: the caller promises that the innermost stack is alive.
        let inner = unsafe { &mut *innermost };
        if inner.through != this || inner.is_grouped != GROUPED {
            inner.through = this;
            inner.sought = 0;
        }
        inner.is_grouped = GROUPED;
        innermost
    }

    /// Forgets the stacks that were suspended together with this one, and the one through which it
    /// was continued.
    pub fn be_alone(&mut self) {
        self.innermost = self;
        self.is_grouped = 0;
        self.through = ptr::null_mut();
        self.sought = 0;
    }

    /// *Wait*: records the number of captures, since this stack resumes another. If the store
    /// counts another number when this stack runs again, the stacks above it may have changed.
    pub fn wait(&mut self, captures: u64) {
        debug_assert!(ptr::eq(self.innermost, self));
        if self.is_grouped == GROUPED {
            self.sought = captures;
            self.is_grouped = HAS_WAITED;
        }
    }

    /// *Suspend*, alone: clears the stack through which it was continued.
    pub fn forget_through(&mut self) {
        debug_assert!(ptr::eq(self.innermost, self));
        self.be_alone();
    }

    /// Records the result of a search for a word: the parent of `through` has the handler.
    pub fn remember(&mut self, sought: u64, through: *mut ControlBlock) {
        if ptr::eq(through, self) {
            return self.forget_through();
        }
        self.through = through;
        self.sought = sought;
        self.is_grouped = GROUPED;
    }

    /// *Free*: resets the block of a stack that can no longer continue, before it is added to the free
    /// list. The reference for its next suspension was never handed out, so the next computation
    /// can use it. But the reference to a task or fiber was.
    pub fn become_free(&mut self) {
        debug_assert!(!matches!(self.purpose, Purpose::Free | Purpose::Root));
        if self.purpose.has_identity() {
            // A task or fiber is never made with the last generation.
            self.reference += crate::stack::NEXT_GENERATION;
        }
        self.be_alone();
        self.purpose = Purpose::Free;
        self.owns = false;
        self.marks = 0;
        self.extender = ptr::null_mut();
    }

    /// *End an activation*: resets its root.
    pub fn become_idle(&mut self, no_parent: *mut ControlBlock) {
        debug_assert_eq!(self.purpose, Purpose::Root);
        self.be_alone();
        self.owns = false;
        self.marks = 0;
        self.extender = ptr::null_mut();
        self.parent = no_parent;
    }

    /// *Free*, of a root before the end of its activation: it cannot continue, but serves no other
    /// activation before its own has ended.
    pub fn become_spent(&mut self) {
        self.become_idle(ptr::null_mut());
    }

    /// Whether a root was [freed](Self::become_spent) before the end of its activation.
    pub fn is_spent(&self) -> bool {
        self.purpose == Purpose::Root && self.parent.is_null()
    }

    /// Whether a root whose function has just returned is [idle](Self::is_idle). It ran, so it is
    /// its own innermost stack, and its parent is `no_parent`.
    #[inline]
    pub fn is_idle_after_return(&self) -> bool {
        /// The fields of a root that is not grouped, owns nothing and has no marks, as one word.
        const PLAIN: u64 = (Purpose::Root as u64) << 32;
        // SAFETY: the four fields are adjacent, fill the word, and are initialized.
        let word = unsafe {
            let fields = ptr::from_ref(self).byte_add(offset_of!(ControlBlock, is_grouped));
            fields.cast::<u64>().read()
        };
        word == PLAIN && self.extender.is_null()
    }

    /// Whether a root is as when it was made, except for its reference.
    pub fn is_idle(&self, no_parent: *mut ControlBlock) -> bool {
        let is_alone = ptr::eq(self.innermost, self) && self.sought == 0;
        is_alone && self.marks == 0 && self.extender.is_null() && self.parent == no_parent
    }

    /// *Lose*: marks a task or fiber that a reference still names, although nothing can continue
    /// its chain. It counts as in use forever.
    pub fn become_lost(&mut self, no_parent: *mut ControlBlock) {
        debug_assert!(self.purpose.has_identity());
        self.be_alone();
        self.owns = false;
        self.marks = 0;
        self.parent = no_parent;
    }
}
