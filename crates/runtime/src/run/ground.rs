//! Grounds of first-class stacks that decide what a trap does.
//!
//! A ground is the outermost frame of a stack. If it handles traps, it is a function of the small
//! instance that makes stacks for the host, with a handler for a tag of that instance:
//!
//! ```text
//!   stack          after a trap                 the error
//!   | ground     | <- the exception lands here  in an object, the value of the exception
//!   | frames     |    freed
//!   | that trap  |    freed
//! ```
//!
//! The frames and stacks on top of the ground are freed, and an exception with the error of the
//! trap is thrown at the ground. If the ground throws it on, the activation ends with the error.

use crate::embedder::guarded;
use crate::heap::Object;
use crate::inspect::frames::Frames;
use crate::report::trap::StackTrap;
use crate::report::violation::Violation;
use crate::run::activation::error_of;
use crate::run::exception::handler_in;
use crate::store::Store;
use crate::store::running::{Departure, Ending};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::module::Item;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, RawVal, TagDef, TrapCode};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The name under which the instance that makes stacks exports the tag of traps.
pub const TRAP_TAG: &str = "trap";

/// A frame that waits for a call, as a position of its stack.
struct Waiting {
    sp: usize,
    fp: usize,
}

impl Store {
    /// When the newest activation is about to end: if a trap on a first-class stack is the reason,
    /// and the ground of the stack handles traps, throws the trap there.
    #[cold]
    pub(crate) fn trap_at_ground(&mut self) -> Option<Outcome> {
        if self.running.is_poisoned() || !self.ends_by_trap() {
            return None;
        }
        let tag = self.trap_tag()?;
        let base = self.context().base;
        let ground = self.find_ground(base, tag)?;
        let ending = self.take_ending();
        if let Ending::Fault(..) = ending {
            self.use_up_portion();
        }
        let error = match error_of(self, ending) {
            Ok(error) => error,
            Err(panic) => return Some(self.end_with(Ending::Panic(panic))),
        };
        // SAFETY: the frame was found on the base, on which everything that runs stands.
        unsafe { self.cut_to(base, &ground) };
        // In the middle of an instruction it is unknown what the lost frames owned.
        self.collect_lost();
        let thrown = guarded(|| self.new_trap_exception(tag, error));
        Some(match thrown {
            Ok(Ok(exception)) => self.throw(exception),
            Ok(Err(code)) => self.end_with(code),
            Err(panic) => self.end_with(Ending::Panic(panic)),
        })
    }

    /// Whether the newest activation ends by a trap of the program or an error of a host function.
    fn ends_by_trap(&self) -> bool {
        use TrapCode::*;
        match self.running.departure() {
            Departure::Ends(Ending::Trap(code) | Ending::DetailedTrap(code, _)) => {
                !matches!(code, Interrupt | OutOfFuel)
            }
            Departure::Ends(Ending::Fault(code, _)) => {
                !matches!(code, Interrupt | OutOfFuel | MistypedTransfer)
            }
            Departure::Ends(Ending::Returned { .. }) => true,
            Departure::Ends(Ending::Error(error)) => !error.is::<Violation>(),
            _ => false,
        }
    }

    /// The tag of traps, if the store has made a stack whose ground handles them.
    fn trap_tag(&self) -> Option<NonNull<TagDef>> {
        let instance = self.objects.instance(self.objects.stacks_instance()?);
        let exports = &instance.module().info.exports;
        match exports.iter().find(|export| export.name == TRAP_TAG)?.item {
            Item::Tag(tag) => Some(instance.tag(tag)),
            _ => None,
        }
    }

    /// The frame on a stack, which runs or on which what runs stands, that handles traps.
    fn find_ground(&self, base: *mut ControlBlock, tag: NonNull<TagDef>) -> Option<Waiting> {
        // SAFETY: running stacks and their parents are alive.
        let (block, running) = unsafe { (base.as_ref()?, &*self.context().stack) };
        let is_usual = block.purpose == Purpose::FirstClass
            && block.extender.is_null()
            && self.running.with_parents(running).all(|stack| !stack.is_parked())
            && self.running.with_parents(running).any(|stack| ptr::eq(stack, base));
        if !is_usual {
            return None;
        }
        let mut fp = match self.running.departure() {
            Departure::Ends(Ending::Fault(_, left)) if ptr::eq(running, base) => left.fp,
            _ => block.fp,
        };
        let own = self.objects.instance(self.objects.stacks_instance()?).module();
        while fp != 0 {
            // SAFETY: a link is a word with the address of the next link, below a return address.
            let waiting =
                unsafe { Waiting { sp: fp + size_of::<usize>(), fp: *(fp as *const usize) } };
            // SAFETY: the frame with the next link waits for the call that returns there.
            let frame = unsafe { Frames::at(self, waiting.sp, waiting.fp) }.next()?;
            let is_own = frame.module().is_some_and(|module| Arc::ptr_eq(module, own));
            if is_own && handler_in(&frame, tag.as_ptr(), false).is_some() {
                return Some(waiting);
            }
            fp = waiting.fp;
        }
        None
    }

    /// Frees the stacks on top of a base, and its frames on top of another one, which then waits
    /// for a host call.
    ///
    /// # Safety
    ///
    /// The base must be that of the running stack, and have the frame.
    unsafe fn cut_to(&mut self, base: *mut ControlBlock, frame: &Waiting) {
        let running = self.context().stack;
        // SAFETY: the caller's promise.
        unsafe {
            self.free_trapped(running, base);
            ((*base).sp, (*base).fp) = (frame.sp, frame.fp);
            self.stacks.settle_marks(base);
        }
        self.context_mut().stack = base;
    }

    /// The exception with the error of a trap.
    fn new_trap_exception(
        &mut self,
        tag: NonNull<TagDef>,
        error: anyhow::Error,
    ) -> Result<u64, TrapCode> {
        let word = self.add_extern(Box::new(StackTrap::new(error)))?;
        self.heap.roots.make_room(1)?;
        let scope = self.open_scope();
        let root = self.root(word);
        let made = self.new_exception(tag, |store| {
            let word = store.rooted(root).expect("its scope has not ended");
            Ok(vec![RawVal::from_u64(word)])
        });
        self.close_scope(scope);
        made.map_err(|_| TrapCode::OutOfMemory)
    }

    /// The error in an exception that the ground of a stack has thrown on.
    pub(crate) fn error_of_trap(&mut self, exception: u64) -> Option<anyhow::Error> {
        // SAFETY: exceptions are references of the store.
        let object = unsafe { Object::from_reference(exception) }?;
        if !ptr::eq(object.tag(), self.trap_tag()?.as_ptr()) {
            return None;
        }
        let mut word = 0;
        object.visit_references(|field| word = *field);
        // SAFETY: the value of such an exception is a reference of the store.
        let value = unsafe { self.extern_value_mut(word) }?;
        value.downcast_mut::<StackTrap>()?.take()
    }
}
