//! The rest of a host function, for which an activation waits.

use crate::store::Store;
use ropewalk_abi::builtin::Outcome;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::task::{Context, Poll};

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
