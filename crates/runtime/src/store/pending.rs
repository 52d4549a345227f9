//! Activations that wait for a host function: what they wait for, and what is set aside of them.

use super::Store;
use super::interrupts::Interrupts;
use super::running::Ending;
use crate::stack::RootStack;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::clauses::List;
use ropewalk_abi::{ControlBlock, HostContext, RawVal, TrapCode};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What is left of a host function that was not ready.
pub trait Rest: Send {
    /// Polls it. When it is ready, it can be concluded.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Puts its results into the transfer area; or throws, suspends, or ends the
    /// activation.
    fn conclude(self, store: &mut Store) -> Outcome;
}

/// How many words a rest may have without a box: the box of a future, what that borrows, and
/// where the function was called.
const SMALL: usize = 4;

/// Some rest. A small one lies here, so that waiting allocates nothing; another is in a box.
pub struct AnyRest {
    words: [MaybeUninit<usize>; SMALL],
    verbs: &'static Verbs,
}

/// What can be done with a rest whose type is not known, by its address.
struct Verbs {
    poll: unsafe fn(*mut (), &mut Context<'_>) -> Poll<()>,
    /// Takes it from there.
    conclude: unsafe fn(*mut (), &mut Store) -> Outcome,
    drop: unsafe fn(*mut ()),
}

/// The verbs of a type.
struct Of<R>(R);

impl<R: Rest> Of<R> {
    const IS_SMALL: bool =
        size_of::<R>() <= size_of::<[usize; SMALL]>() && align_of::<R>() <= align_of::<usize>();

    const VERBS: Verbs = Verbs {
        // SAFETY: whoever calls it has one of this type there.
        poll: |rest, context| unsafe { (*rest.cast::<R>()).poll(context) },
        // SAFETY: as above, and it is not used again.
        conclude: |rest, store| unsafe { rest.cast::<R>().read().conclude(store) },
        // SAFETY: as above, and it is not used again.
        drop: |rest| unsafe { rest.cast::<R>().drop_in_place() },
    };
}

impl<R: Rest> Rest for Box<R> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (**self).poll(context)
    }

    fn conclude(self, store: &mut Store) -> Outcome {
        (*self).conclude(store)
    }
}

impl AnyRest {
    /// A rest as one of any type.
    #[inline]
    pub fn new<R: Rest + 'static>(rest: R) -> AnyRest {
        match Of::<R>::IS_SMALL {
            true => AnyRest::small(rest),
            false => AnyRest::small(Box::new(rest)),
        }
    }

    #[inline]
    fn small<R: Rest + 'static>(rest: R) -> AnyRest {
        const { assert!(Of::<Box<R>>::IS_SMALL) };
        let mut words = [MaybeUninit::uninit(); SMALL];
        assert!(Of::<R>::IS_SMALL);
        // SAFETY: there is room for it.
        unsafe { words.as_mut_ptr().cast::<R>().write(rest) };
        AnyRest { words, verbs: &Of::<R>::VERBS }
    }

    /// As [`Rest::poll`].
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: it is there, of the type whose verbs these are.
        unsafe { (self.verbs.poll)(self.words.as_mut_ptr().cast(), context) }
    }

    /// As [`Rest::conclude`].
    #[inline]
    pub fn conclude(self, store: &mut Store) -> Outcome {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: as above, and it is not used again.
        unsafe { (this.verbs.conclude)(this.words.as_mut_ptr().cast(), store) }
    }
}

impl Drop for AnyRest {
    fn drop(&mut self) {
        // SAFETY: as in `poll`.
        unsafe { (self.verbs.drop)(self.words.as_mut_ptr().cast()) };
    }
}

// SAFETY: every rest can be sent.
unsafe impl Send for AnyRest {}

impl fmt::Debug for AnyRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyRest").finish_non_exhaustive()
    }
}

/// The rest of a host function that was given up.
struct GivenUp;

impl Rest for GivenUp {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn conclude(self, _: &mut Store) -> Outcome {
        unreachable!("it is never ready")
    }
}

/// What an activation waits for.
#[derive(Debug)]
pub struct Waiting {
    /// The rest of a host function.
    pub rest: AnyRest,
    /// Where the scope of its references begins, if it keeps them while it waits.
    pub scope: Scope,
    /// Whether it has not been polled yet, so that whoever polls the call must be woken.
    pub is_due: bool,
}

/// What an activation waits for, as a [snapshot](crate::snapshot) can say it. It is noted only
/// where there are such.
#[derive(Debug, Default)]
pub enum Awaits {
    /// Nothing that could be said: a limiter that has not decided.
    #[default]
    Unsaid,
    /// To be polled again: it has stopped at a check point.
    Turn,
    /// A host function.
    Host {
        /// What it was called with. It lives as long as the store.
        context: *const HostContext,
        /// Its arguments, if none is a reference: those would move.
        arguments: Option<Box<[RawVal]>>,
    },
}

/// Where a scope begins that lasts while a host function waits, if there is one. It lies in
/// every future that waits, so it is small: more references than that there cannot be.
#[derive(Clone, Copy, Debug)]
pub struct Scope(u32);

impl Scope {
    /// There is none.
    pub const NONE: Scope = Scope(u32::MAX);

    /// One that begins after so many references.
    pub fn beginning_at(begin: usize) -> Scope {
        Scope(u32::try_from(begin).unwrap_or(u32::MAX - 1))
    }

    pub(crate) fn begin(self) -> Option<usize> {
        (self.0 != Scope::NONE.0).then_some(self.0 as usize)
    }
}

impl Waiting {
    /// Waits for something that was not ready when it was polled.
    pub fn polled(rest: AnyRest, scope: Scope) -> Waiting {
        Waiting { rest, scope, is_due: false }
    }

    /// Waits for something that was not polled yet.
    pub fn due(rest: AnyRest) -> Waiting {
        Waiting { rest, scope: Scope::NONE, is_due: true }
    }

    /// Returns the rest, which nobody will continue. It may use the store when it is dropped.
    pub fn give_up(&mut self) -> AnyRest {
        std::mem::replace(&mut self.rest, AnyRest::new(GivenUp))
    }
}

/// An activation has been left because it waits: its number among those that do.
#[derive(Clone, Copy, Debug)]
pub struct LeftWaiting(pub(crate) u32);

/// An activation that waits.
#[derive(Debug)]
pub struct Pending {
    /// For what.
    pub waiting: Waiting,
    /// Its number among those that wait.
    pub(crate) number: u32,
    /// What may end it meanwhile.
    pub(crate) interrupts: Option<Arc<Interrupts>>,
}

impl Pending {
    /// Has whoever polls the call woken when it must go on. Called when the call was just left
    /// and the store can be used by others: a waker may do anything.
    pub fn announce(&mut self, waker: &Waker) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.wake_at_end(self.number as usize, waker);
        }
        if std::mem::take(&mut self.waiting.is_due) {
            waker.wake_by_ref();
        }
    }

    /// Polls what it waits for. It is ready too if the activation is to end.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.interrupts {
            None => self.waiting.rest.poll(context),
            Some(_) => self.poll_or_end(context),
        }
    }

    #[cold]
    fn poll_or_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let interrupts = self.interrupts.as_ref().expect("it can be ended");
        if interrupts.end() {
            // What it waits for may use the store when it is dropped.
            self.waiting.rest = AnyRest::new(Ends);
        } else if self.waiting.rest.poll(context).is_pending() {
            interrupts.wake_at_end(self.number as usize, context.waker());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// What is set aside of an activation that waits.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub root: RootStack,
    pub stack: *mut ControlBlock,
    pub base: *mut ControlBlock,
    pub awaits: Awaits,
    /// What its root refers to, if nobody is sure to keep it.
    pub _caller: Option<Arc<CallerPlaces>>,
}

/// What the root of an activation of a [snapshot](crate::snapshot) refers to, in the place of
/// whoever has called it. The activation and whoever will continue it share it, so that it stays
/// even if nobody does.
#[derive(Debug)]
pub struct CallerPlaces {
    /// The array with the results, if they are not in a register. Its address is on the stack.
    pub(crate) values: Option<Box<[UnsafeCell<RawVal>]>>,
    /// The clauses with which the host has resumed a continuation.
    pub(crate) clauses: Option<List<Vec<u64>>>,
}

// SAFETY: what is written there is written by the store's activation, and read when that has
// ended, by who has the store.
unsafe impl Send for CallerPlaces {}
// SAFETY: as above.
unsafe impl Sync for CallerPlaces {}

impl CallerPlaces {
    /// The results, if they are not in a register.
    ///
    /// # Safety
    ///
    /// The activation must have ended.
    pub unsafe fn values(&self) -> Option<&[RawVal]> {
        let values = self.values.as_deref()?;
        // SAFETY: nobody writes there any more; a cell is what is in it.
        Some(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) })
    }

    /// The clauses of the host, if it has resumed a continuation.
    pub fn clauses(&self) -> &[u64] {
        self.clauses.as_ref().map_or(&[], List::clauses)
    }
}

/// What an activation waits for that is to end.
struct Ends;

impl Rest for Ends {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn conclude(self, store: &mut Store) -> Outcome {
        store.set_ending(Ending::Trap(TrapCode::Interrupt));
        Outcome::END
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::task::Waker;

    /// Is ready at the second poll, with something of a size.
    struct Counts<const SIZE: usize> {
        polls: [u8; SIZE],
        _shared: Arc<()>,
    }

    impl<const SIZE: usize> Rest for Counts<SIZE> {
        fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
            self.polls[SIZE - 1] += 1;
            if self.polls[SIZE - 1] == 2 { Poll::Ready(()) } else { Poll::Pending }
        }

        fn conclude(self, _: &mut Store) -> Outcome {
            unreachable!("there is no store")
        }
    }

    fn polls_and_drops<const SIZE: usize>() {
        let shared = Arc::new(());
        let mut rest = AnyRest::new(Counts { polls: [0; SIZE], _shared: shared.clone() });
        let mut context = Context::from_waker(Waker::noop());
        assert!(rest.poll(&mut context).is_pending());
        let mut moved = Box::new(rest);
        assert!(moved.poll(&mut context).is_ready());
        assert_eq!(Arc::strong_count(&shared), 2);
        drop(moved);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn a_rest_is_polled_and_dropped_once_whatever_its_size() {
        polls_and_drops::<1>();
        polls_and_drops::<24>();
        polls_and_drops::<25>();
        polls_and_drops::<1000>();
    }
}
