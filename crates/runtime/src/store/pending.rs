//! Pending host calls, and the activations that wait for them.

use super::Store;
use super::interrupts::Interrupts;
use crate::stack::RootStack;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::clauses::List;
use ropewalk_abi::{ControlBlock, HostContext, RawVal, TrapCode};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The future of a host call, with what is done with its output.
pub trait HostFuture: Send {
    /// Polls it. When it is ready, it can be finished.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Puts its results into the transfer area; or throws, suspends, or ends the
    /// activation.
    fn finish(self, store: &mut Store) -> Outcome;
}

/// How many words a future may have without a box: the box of a future, what that borrows, and
/// where the function was called.
const SMALL: usize = 4;

/// Any such future. A small one lies here, so that waiting allocates nothing; others are boxed.
pub struct AnyHostFuture {
    words: [MaybeUninit<usize>; SMALL],
    verbs: &'static Verbs,
}

/// What can be done with a future of unknown type, by its address.
struct Verbs {
    poll: unsafe fn(*mut (), &mut Context<'_>) -> Poll<()>,
    /// Takes it from there.
    finish: unsafe fn(*mut (), &mut Store) -> Outcome,
    drop: unsafe fn(*mut ()),
}

/// The verbs of a type.
struct Of<R>(R);

impl<R: HostFuture> Of<R> {
    const IS_SMALL: bool =
        size_of::<R>() <= size_of::<[usize; SMALL]>() && align_of::<R>() <= align_of::<usize>();

    const VERBS: Verbs = Verbs {
        // SAFETY: whoever calls it has one of this type there.
        poll: |future, context| unsafe { (*future.cast::<R>()).poll(context) },
        // SAFETY: as above, and it is not used again.
        finish: |future, store| unsafe { future.cast::<R>().read().finish(store) },
        // SAFETY: as above, and it is not used again.
        drop: |future| unsafe { future.cast::<R>().drop_in_place() },
    };
}

impl<R: HostFuture> HostFuture for Box<R> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (**self).poll(context)
    }

    fn finish(self, store: &mut Store) -> Outcome {
        (*self).finish(store)
    }
}

impl AnyHostFuture {
    /// A future of unknown type.
    #[inline]
    pub fn new<R: HostFuture + 'static>(future: R) -> AnyHostFuture {
        match Of::<R>::IS_SMALL {
            true => AnyHostFuture::small(future),
            false => AnyHostFuture::small(Box::new(future)),
        }
    }

    #[inline]
    fn small<R: HostFuture + 'static>(future: R) -> AnyHostFuture {
        const { assert!(Of::<Box<R>>::IS_SMALL) };
        let mut words = [MaybeUninit::uninit(); SMALL];
        assert!(Of::<R>::IS_SMALL);
        // SAFETY: there is room for it.
        unsafe { words.as_mut_ptr().cast::<R>().write(future) };
        AnyHostFuture { words, verbs: &Of::<R>::VERBS }
    }

    /// As [`HostFuture::poll`].
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: it is there, of the type whose verbs these are.
        unsafe { (self.verbs.poll)(self.words.as_mut_ptr().cast(), context) }
    }

    /// As [`HostFuture::finish`].
    #[inline]
    pub fn finish(self, store: &mut Store) -> Outcome {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: as above, and it is not used again.
        unsafe { (this.verbs.finish)(this.words.as_mut_ptr().cast(), store) }
    }
}

impl Drop for AnyHostFuture {
    fn drop(&mut self) {
        // SAFETY: as in `poll`.
        unsafe { (self.verbs.drop)(self.words.as_mut_ptr().cast()) };
    }
}

// SAFETY: every such future is `Send`.
unsafe impl Send for AnyHostFuture {}

impl fmt::Debug for AnyHostFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyHostFuture").finish_non_exhaustive()
    }
}

/// The future of a call that was given up.
struct GivenUp;

impl HostFuture for GivenUp {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn finish(self, _: &mut Store) -> Outcome {
        unreachable!("it is never ready")
    }
}

/// What a pending host call is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// The call was left, and nothing polls its future yet: the caller must be woken.
    Left,
    /// The future was polled and is not ready.
    Pending,
    /// The results are there: the call can be finished.
    Ready,
}

/// A host call that is not ready: its stack was left in it, and continues when it is finished.
///
/// ```text
///   host function --returns a future--> Left --announce--> Pending --poll--> Ready --finish-->
/// ```
///
/// A limiter that has not decided, and a time slice that has passed, are pending calls too.
#[derive(Debug)]
pub struct PendingCall {
    future: AnyHostFuture,
    /// Where the scope of its references begins, if it keeps them while it is pending.
    scope: Scope,
    state: CallState,
    /// The number of its activation among those that were set aside.
    activation: u32,
    /// What may end it meanwhile.
    interrupts: Option<Arc<Interrupts>>,
}

impl PendingCall {
    fn new(future: AnyHostFuture, scope: Scope, state: CallState) -> PendingCall {
        PendingCall { future, scope, state, activation: u32::MAX, interrupts: None }
    }

    /// A call whose future was polled, and was not ready.
    pub fn polled(future: AnyHostFuture, scope: Scope) -> PendingCall {
        PendingCall::new(future, scope, CallState::Pending)
    }

    /// A call whose future was not polled yet.
    pub fn unpolled(future: AnyHostFuture) -> PendingCall {
        PendingCall::new(future, Scope::NONE, CallState::Left)
    }

    /// Notes which activation waits for it, and what may end that.
    pub(crate) fn belongs_to(
        &mut self,
        ActivationNumber(number): ActivationNumber,
        interrupts: Option<Arc<Interrupts>>,
    ) {
        self.activation = number;
        self.interrupts = interrupts;
    }

    /// The number of its activation.
    pub(crate) fn activation(&self) -> usize {
        self.activation as usize
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// Has the caller woken when the call must continue. Called when the call was just left
    /// and the store can be used by others: a waker may do anything.
    pub fn announce(&mut self, waker: &Waker) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.wake_at_end(self.activation as usize, waker);
        }
        if self.state == CallState::Left {
            self.state = CallState::Pending;
            waker.wake_by_ref();
        }
    }

    /// Polls its future. It is ready too if the activation must end.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let polled = match self.interrupts {
            None => self.future.poll(context),
            Some(_) => self.poll_or_end(context),
        };
        if polled.is_ready() {
            self.state = CallState::Ready;
        }
        polled
    }

    #[cold]
    fn poll_or_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let interrupts = self.interrupts.as_ref().expect("it can be ended");
        if interrupts.end() {
            // What the call waits for may use the store when it is dropped.
            self.future = AnyHostFuture::new(Ends);
        } else if self.future.poll(context).is_pending() {
            interrupts.wake_at_end(self.activation as usize, context.waker());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Replaces the future by one that is ready.
    pub fn fulfill(&mut self, future: AnyHostFuture) {
        self.future = future;
        self.state = CallState::Ready;
    }

    /// Returns the future of a call that nothing continues. It may use the store when it is
    /// dropped.
    pub fn give_up(&mut self) -> AnyHostFuture {
        std::mem::replace(&mut self.future, AnyHostFuture::new(GivenUp))
    }

    /// Finishes the call, which must be ready: puts its results into the transfer area, or
    /// throws, suspends, or ends the activation.
    pub(crate) fn finish(self, store: &mut Store) -> Outcome {
        assert_eq!(
            self.state,
            CallState::Ready,
            "a pending host call is finished when it is ready"
        );
        self.future.finish(store)
    }
}

/// An activation that was left in a pending host call: its number among those set aside.
#[derive(Clone, Copy, Debug)]
pub struct ActivationNumber(pub(crate) u32);

/// What an activation waits for, as a [snapshot](crate::snapshot) describes it. It is noted only
/// where snapshots can be taken.
#[derive(Debug, Default)]
pub enum AwaitedCall {
    /// Something that no snapshot can have: a limiter that has not decided.
    #[default]
    Unknown,
    /// To be polled again: it has stopped at a safepoint.
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

/// What is set aside of an activation that waits.
#[derive(Debug)]
pub(crate) struct WaitingActivation {
    pub root: RootStack,
    pub stack: *mut ControlBlock,
    pub base: *mut ControlBlock,
    pub awaits: AwaitedCall,
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

impl HostFuture for Ends {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn finish(self, store: &mut Store) -> Outcome {
        store.end_with(TrapCode::Interrupt)
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

    impl<const SIZE: usize> HostFuture for Counts<SIZE> {
        fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
            self.polls[SIZE - 1] += 1;
            if self.polls[SIZE - 1] == 2 { Poll::Ready(()) } else { Poll::Pending }
        }

        fn finish(self, _: &mut Store) -> Outcome {
            unreachable!("there is no store")
        }
    }

    fn polls_and_drops<const SIZE: usize>() {
        let shared = Arc::new(());
        let mut future = AnyHostFuture::new(Counts { polls: [0; SIZE], _shared: shared.clone() });
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.poll(&mut context).is_pending());
        let mut moved = Box::new(future);
        assert!(moved.poll(&mut context).is_ready());
        assert_eq!(Arc::strong_count(&shared), 2);
        drop(moved);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn a_host_future_is_polled_and_dropped_once_whatever_its_size() {
        polls_and_drops::<1>();
        polls_and_drops::<24>();
        polls_and_drops::<25>();
        polls_and_drops::<1000>();
    }
}
