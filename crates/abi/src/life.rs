//! The life of a stack: the states that it can be in, and what its record says
//! after each transition.
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
//! | state | how it is recognised |
//! | --- | --- |
//! | [`Free`](Life::Free) | `purpose` is `Free`; on the list `StoreContext::free_stacks`; has memory |
//! | [`New`](Life::New) | as suspended and alone; on top of it, above what is [bound](crate::bound), is the address of the stub `start`, or of `ground` if it is blank |
//! | [`Suspended`](Life::Suspended) | `reference` is what was handed out for it; it is not `StoreContext::stack`, nor a parent of that or of the stack of an outer activation. It is alone if `innermost` is the stack itself |
//! | [`Inside`](Life::Inside) | it is suspended with another, the outermost: it is that one's `innermost`, or a parent of it |
//! | [`Parked`](Life::Parked) | it is new or suspended, and `limit` is `PARKED` or `PARKED_PLAIN`: its frames are packed, and it has no memory of its own. So are all that are suspended inside of it |
//! | [`Running`](Life::Running) | it is `StoreContext::stack`, or that of an outer activation, which is in a host call |
//! | [`Waiting`](Life::Waiting) | it is a parent of a running stack, or the `extender` of its base |
//! | [`Idle`](Life::Idle) | a root whose activation does not run; `purpose` is `Root` |
//! | [`Spent`](Life::Spent) | a root that was freed while its activation goes on; `parent` is null |
//! | [`Lost`](Life::Lost) | a task or fiber whose `parent` is `no_parent`, or that is suspended with a root that is spent and ends with its activation |
//! | [`Vacant`](Life::Vacant) | `purpose` is `Free` and it has no memory: never used, given back, freed while it was parked, or *retired*, since its generations are used up |
//!
//! A stack that has *finished* is free at once. A task or fiber that has is called
//! *moribund*: that is true of references, of an earlier generation than the block's,
//! and not of a block.
//!
//! What is true of a stack stands in its [`ControlBlock`] and nowhere else, but
//! for its marks, which the store keeps by the number of the block and moves
//! together with it, and for [bound arguments](crate::bound), which lie on the stack
//! itself and move and end with its memory. A transition is made in one place: generated
//! code makes the frequent ones in line, and the runtime the others, by the
//! functions here and in its `stack` and `design` folders. After each, these fields have
//! meaning and hold this:
//!
//! | transition | fields afterwards |
//! | --- | --- |
//! | *create*: off the list of free stacks | `sp` at the address to start at, `fp` 0, `function` and `entry`; `purpose` the design's; `owns` false; `parent` null for a task or fiber, `no_parent` for a base; no marks, not grouped, nothing `sought`; `innermost` itself, `extender` null, as they were while it was free |
//! | *copy*: off the list of free stacks, as what is suspended or new | `sp` and `fp` where the other was left, `handlers`, `function`, `entry`, `purpose`, `owns` and marks as its; `innermost` and `parent` the copies of those; of the outermost, `parent` as its; nothing `sought`, `through` null |
//! | *suspend*, up to an outermost stack | of the outermost: `innermost` the stack that ran, `is_grouped` if that is another; `parent` null for a task or fiber, `no_parent` for a base, and without meaning for a continuation. Of those inside, `parent` as before |
//! | *start*, *continue* | of the outermost: `reference` the next generation, unless it is a task or fiber; `innermost` itself; `parent` who resumed it. Of the innermost: `through` the outermost if that is another, else null; `sought` zero unless `through` is what it was and it has not waited since |
//! | *resume another*, wait | `handlers` the clauses; if `is_grouped`, that is `HAS_WAITED`, and `sought` the number of captures before it waited the first time. Of a root from which the host resumes: also `sp` at the address of the stub `come_back`, `fp` 0 |
//! | *hold*: what is suspended or new belongs to the host | as before; the store notes that the host has it |
//! | *bind*: arguments are put on the stack that will continue | of the outermost: `reference` the next generation. Of the innermost: `sp` at the head of what is bound |
//! | *continue with an exception* | as *continue*; of the innermost: `sp` where it was left, without what was bound |
//! | *extend* | as *continue*; of the base: `extender` who waits for `stack.start` |
//! | *begin a rout* (`stack.start`) | as *suspend*; of the base: `extender` null |
//! | *own*: a frame calls something while it owns a first-class stack, or a structure with its locals | `owns` true, for the rest of its life |
//! | *land* an exception | those inside are freed, and what the frames owned that were left; `sp` and `fp` those of the handler's frame; without the marks of the functions that were left; of the base: `extender` null, and whoever waited there is suspended for ever |
//! | *finish*, *free* | `purpose` `Free`, `owns` false, no marks, `innermost` itself, `extender` null; `reference` of a task or fiber the next generation; on the list of free stacks. If it was parked: vacant |
//! | *free*, of a root | as when it was made, but for `reference`; `parent` null until its activation ends, which it cannot by a return |
//! | *free*, of what it owns | the first-class stacks in its frames, bound to it, or taken by its walks are freed too, and what those own |
//! | *renew* | everything is in another block, with the marks; the `parent` of the child is that, and so is the `through` of those inside that were continued by way of it; the old block is blank |
//! | *move* | `sp`, `fp`, `top`, `limit`, `high`, and the links in its frames |
//! | *park*: the frames of what is suspended or new are packed | `limit` `PARKED` or `PARKED_PLAIN`, `high` where they are, `sp` at the address of the stub `unpark`; `fp` and `top` as they were, though the memory is another's. Of a first-class stack that is alone: `is_grouped` |
//! | *unpark* | as before, in other memory; as *move* |
//! | *lose*: nothing can continue the chain that it is in | of a task or fiber that something still names: `parent` `no_parent`, `innermost` itself, no marks |
//! | *end an activation* | of its root: as when it was made, but for `reference` |
//!
//! In a stress mode the runtime checks all this after every transition.

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
    /// Made, and not started.
    New,
    /// The outermost of what is suspended under a reference.
    Suspended,
    /// Suspended together with others outside of it.
    Inside,
    /// New, or the outermost of what is suspended under a reference, with its frames
    /// packed.
    Parked,
    /// It runs, or is in a call of the host.
    Running,
    /// It waits for another that it has resumed or extends.
    Waiting,
    /// A root that nothing runs on.
    Idle,
    /// A root that nothing lies on any more, although its activation has not ended.
    Spent,
    /// A task or fiber that will never continue.
    Lost,
    /// A block without a stack.
    Vacant,
}

/// Up to how many bytes below its first word a stack is copied in line. Every free stack has
/// room for as many.
pub const COPIED_IN_LINE: usize = 512;

impl ControlBlock {
    /// *Create*, by the host: a free stack, which is off the list, becomes a new
    /// continuation of a function, which code calls.
    ///
    /// # Safety
    ///
    /// Its memory must be there, and `start` be where stacks start.
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
        // SAFETY: the caller's promise.
        unsafe { *(self.sp as *mut *const c_void) = start };
        self.function = function;
        self.entry = entry;
        self.purpose = Purpose::Continuation;
        self.marks = 0;
    }

    /// *Copy*: a free stack, which is off the list and on which lies what lies on another that
    /// is suspended or new, becomes a copy of that, with a parent. It has no marks yet.
    pub fn become_copy(&mut self, of: &ControlBlock, parent: *mut ControlBlock) {
        debug_assert_eq!(self.purpose, Purpose::Free);
        // What the other was continued by way of, and has sought there, is not the copy's.
        self.be_alone();
        self.parent = parent;
        self.handlers = of.handlers;
        self.purpose = of.purpose;
        self.owns = of.owns;
        self.marks = 0;
        self.function = of.function;
        self.entry = of.entry;
    }

    /// *Wait*, for a stack that the host continues: a root continues at `come_back`,
    /// with clauses of the host's.
    ///
    /// # Safety
    ///
    /// It must be idle, and its memory be there.
    pub unsafe fn wait_for_host(&mut self, come_back: *const c_void, handlers: *const u64) {
        debug_assert_eq!(self.purpose, Purpose::Root);
        self.sp = self.high - size_of::<usize>();
        self.fp = 0;
        // SAFETY: the caller's promise.
        unsafe { *(self.sp as *mut *const c_void) = come_back };
        self.handlers = handlers;
    }

    /// *Suspend*: notes which stack is the innermost of those that are suspended
    /// together with this one.
    pub fn group(&mut self, innermost: *mut ControlBlock) {
        let is_alone = ptr::eq(innermost, self);
        self.innermost = innermost;
        if !is_alone {
            self.is_grouped = GROUPED;
        }
    }

    /// *Continue*: prepares for continuing the innermost of the stacks that were
    /// suspended together with this one; returns it.
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
        // SAFETY: the caller's promise.
        let inner = unsafe { &mut *innermost };
        if inner.through != this || inner.is_grouped != GROUPED {
            inner.through = this;
            inner.sought = 0;
        }
        inner.is_grouped = GROUPED;
        innermost
    }

    /// Forgets what was suspended together with this stack, and by way of which
    /// it was continued.
    pub fn be_alone(&mut self) {
        self.innermost = self;
        self.is_grouped = 0;
        self.through = ptr::null_mut();
        self.sought = 0;
    }

    /// *Wait*: notes that what is above may have changed when this stack runs
    /// again, since it resumes another: it has if stacks were captured meanwhile, which
    /// the store counts.
    pub fn wait(&mut self, captures: u64) {
        debug_assert!(ptr::eq(self.innermost, self));
        if self.is_grouped == GROUPED {
            self.sought = captures;
            self.is_grouped = HAS_WAITED;
        }
    }

    /// *Suspend*, alone: by which way it was continued the last time does not matter
    /// any more.
    pub fn forget_through(&mut self) {
        debug_assert!(ptr::eq(self.innermost, self));
        self.be_alone();
    }

    /// Notes by way of which stack, whose parent has the handler, the next search
    /// for a word ends.
    pub fn remember(&mut self, sought: u64, through: *mut ControlBlock) {
        if ptr::eq(through, self) {
            return self.forget_through();
        }
        self.through = through;
        self.sought = sought;
        self.is_grouped = GROUPED;
    }

    /// *Free*: the record of a stack that nobody can continue any more, before it
    /// goes to the list of free ones. Nobody has the reference under which it
    /// would be suspended the next time, so that can serve its next computation;
    /// but a task or fiber had one all its life.
    pub fn become_free(&mut self) {
        debug_assert!(!matches!(self.purpose, Purpose::Free | Purpose::Root));
        if self.purpose.has_identity() {
            // When it was made, this generation was not the last.
            self.reference += crate::stack::NEXT_GENERATION;
        }
        self.be_alone();
        self.purpose = Purpose::Free;
        self.owns = false;
        self.marks = 0;
        self.extender = ptr::null_mut();
    }

    /// *End an activation*: its root is as when it was made.
    pub fn become_idle(&mut self, no_parent: *mut ControlBlock) {
        debug_assert_eq!(self.purpose, Purpose::Root);
        self.be_alone();
        self.owns = false;
        self.marks = 0;
        self.extender = ptr::null_mut();
        self.parent = no_parent;
    }

    /// *Free*, of a root whose activation goes on: nothing lies on it, and nobody can continue
    /// it, but it serves no other activation before its own has ended.
    pub fn become_spent(&mut self) {
        self.become_idle(ptr::null_mut());
    }

    /// Whether a root was [freed](Self::become_spent) before its activation has ended.
    pub fn is_spent(&self) -> bool {
        self.purpose == Purpose::Root && self.parent.is_null()
    }

    /// Whether a root whose function has just returned is [idle](Self::is_idle): it ran, so
    /// it is its own innermost stack, and its parent is that of all roots.
    #[inline]
    pub fn is_idle_after_return(&self) -> bool {
        /// A root that is not grouped, owns nothing and has no marks, as they lie.
        const PLAIN: u64 = (Purpose::Root as u64) << 32;
        // SAFETY: the four fields lie there together, and are all initialised.
        let word = unsafe {
            let fields = ptr::from_ref(self).byte_add(offset_of!(ControlBlock, is_grouped));
            fields.cast::<u64>().read()
        };
        word == PLAIN && self.extender.is_null()
    }

    /// Whether a root is as when it was made, but for its reference.
    pub fn is_idle(&self, no_parent: *mut ControlBlock) -> bool {
        let is_alone = ptr::eq(self.innermost, self) && self.sought == 0;
        is_alone && self.marks == 0 && self.extender.is_null() && self.parent == no_parent
    }

    /// *Lose*: a task or fiber that can never continue, since nothing can continue
    /// the chain that it is in, but that something still names. It counts as in
    /// use for ever.
    pub fn become_lost(&mut self, no_parent: *mut ControlBlock) {
        debug_assert!(self.purpose.has_identity());
        self.be_alone();
        self.owns = false;
        self.marks = 0;
        self.parent = no_parent;
    }
}
