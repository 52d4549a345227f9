//! Pending host calls, whose results are not available yet.

use super::Store;
use super::interrupts::Interrupts;
use super::pending_activations::ActivationNumber;
use ropewalk_abi::TrapCode;
use ropewalk_abi::builtin::Outcome;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The future of a host call.
pub trait HostFuture: Send {
    /// Polls the future. When it is ready, the call can be finished.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Puts the results into the transfer area; or throws, suspends, or ends the activation.
    fn finish(self, store: &mut Store) -> Outcome;
}

/// How many words fit without a box: a boxed future, what it borrows, and the place of the call.
const SMALL: usize = 4;

/// A [`HostFuture`] of any type, boxed unless it is small.
pub struct AnyHostFuture {
    words: [MaybeUninit<usize>; SMALL],
    verbs: &'static Verbs,
}

/// The methods of a future of an erased type, which take its address.
struct Verbs {
    poll: unsafe fn(*mut (), &mut Context<'_>) -> Poll<()>,
    /// Moves the future out.
    finish: unsafe fn(*mut (), &mut Store) -> Outcome,
    drop: unsafe fn(*mut ()),
}

/// The verbs of a type.
struct Of<R>(R);

impl<R: HostFuture> Of<R> {
    const IS_SMALL: bool =
        size_of::<R>() <= size_of::<[usize; SMALL]>() && align_of::<R>() <= align_of::<usize>();

    const VERBS: Verbs = Verbs {
        // SAFETY: the caller passes the address of a future of this type.
        poll: |future, context| unsafe { (*future.cast::<R>()).poll(context) },
        // SAFETY: as above, and the caller does not use it again.
        finish: |future, store| unsafe { future.cast::<R>().read().finish(store) },
        // SAFETY: as above, and the caller does not use it again.
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
    /// Erases the type of a future.
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
        // SAFETY: `words` has room for it.
        unsafe { words.as_mut_ptr().cast::<R>().write(future) };
        AnyHostFuture { words, verbs: &Of::<R>::VERBS }
    }

    /// As [`HostFuture::poll`].
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `words` contains a future of the type that `verbs` is for.
        unsafe { (self.verbs.poll)(self.words.as_mut_ptr().cast(), context) }
    }

    /// As [`HostFuture::finish`].
    #[inline]
    pub fn finish(self, store: &mut Store) -> Outcome {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: as above, and the future is not used again.
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

/// The future of a call that nothing continues, or of a restored one until it is called again.
pub(crate) struct NeverReady;

impl HostFuture for NeverReady {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn finish(self, _: &mut Store) -> Outcome {
        unreachable!("it is never ready")
    }
}

/// The state of a pending host call. A finished call is consumed.
///
/// There are three states because two decisions depend on them. The caller must be woken exactly if
/// the future was not polled, since a future wakes nobody before its first poll; waking it for other
/// futures would keep it busy. And only a ready call can be finished, which a restored one becomes
/// without a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// The call was left, and its future is not polled yet: the caller must be woken.
    Left,
    /// The future was polled and is not ready.
    Pending,
    /// The results are there: the call can be finished.
    Ready,
}

/// A host call that is not ready. Its stack was left, and continues when the call is finished.
///
/// ```text
///   host function --returns a future--> Left --announce--> Pending --poll--> Ready --finish-->
/// ```
///
/// A limiter that has not decided and an activation that has yielded are pending calls too.
#[derive(Debug)]
pub struct PendingCall {
    future: AnyHostFuture,
    /// The scope of its references, if it keeps them while it is pending.
    scope: Scope,
    state: CallState,
    /// The number of its activation among those set aside.
    activation: u32,
    /// What can end the activation while the call is pending.
    interrupts: Option<Arc<Interrupts>>,
}

impl PendingCall {
    fn new(future: AnyHostFuture, scope: Scope, state: CallState) -> PendingCall {
        PendingCall { future, scope, state, activation: u32::MAX, interrupts: None }
    }

    /// A call whose future was polled, and is not ready.
    pub fn polled(future: AnyHostFuture, scope: Scope) -> PendingCall {
        PendingCall::new(future, scope, CallState::Pending)
    }

    /// A call whose future was not polled yet.
    pub fn unpolled(future: AnyHostFuture) -> PendingCall {
        PendingCall::new(future, Scope::NONE, CallState::Left)
    }

    /// Sets which activation waits for the call, and what can end it.
    pub(crate) fn belongs_to(
        &mut self,
        ActivationNumber(number): ActivationNumber,
        interrupts: Option<Arc<Interrupts>>,
    ) {
        self.activation = number;
        self.interrupts = interrupts;
    }

    pub(crate) fn activation(&self) -> usize {
        self.activation as usize
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// Wakes the caller when the call can continue. The waker may use the store.
    pub fn announce(&mut self, waker: &Waker) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.wake_at_end(self.activation as usize, waker);
        }
        if self.state == CallState::Left {
            self.state = CallState::Pending;
            waker.wake_by_ref();
        }
    }

    /// Polls the future. The call is ready too if its activation must end.
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
            // Dropping the future may use the store, so it is dropped here, not in `finish`.
            self.future = AnyHostFuture::new(Ends);
        } else if self.future.poll(context).is_pending() {
            interrupts.wake_at_end(self.activation as usize, context.waker());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Replaces the future by a ready one.
    pub fn fulfill(&mut self, future: AnyHostFuture) {
        self.future = future;
        self.state = CallState::Ready;
    }

    /// Takes the future out of an abandoned call. It may use the store when it is dropped.
    pub fn give_up(&mut self) -> AnyHostFuture {
        std::mem::replace(&mut self.future, AnyHostFuture::new(NeverReady))
    }

    /// Finishes a ready call, as [`HostFuture::finish`].
    pub(crate) fn finish(self, store: &mut Store) -> Outcome {
        assert_eq!(
            self.state,
            CallState::Ready,
            "a pending host call is finished when it is ready"
        );
        self.future.finish(store)
    }
}

/// Where the scope of a pending host function begins, if it has one. Every pending call contains
/// one, so it is small: there are never more references than it can count.
#[derive(Clone, Copy, Debug)]
pub struct Scope(u32);

impl Scope {
    /// No scope.
    pub const NONE: Scope = Scope(u32::MAX);

    /// A scope that begins after this many references.
    pub fn beginning_at(begin: usize) -> Scope {
        Scope(u32::try_from(begin).unwrap_or(u32::MAX - 1))
    }

    pub(crate) fn begin(self) -> Option<usize> {
        (self.0 != Scope::NONE.0).then_some(self.0 as usize)
    }
}

/// The future of an activation that must end.
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

    /// Ready at the second poll; its size is a parameter.
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
