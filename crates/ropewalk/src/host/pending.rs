//! The rest of a host function that is not ready.

use crate::host::{called_as, fail};
use anyhow::Result;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{HostContext, RawVal};
use ropewalk_runtime::{AnyHostFuture, HostFuture, Store as RuntimeStore};
use std::ptr;
use std::task::{Context, Poll};

/// A future of values, polled by a function, and the function that puts the values into
/// places.
pub(crate) struct ValuesFuture<F, V, P> {
    progress: Progress<F, V>,
    put: P,
    /// The context that the host function was called with. It lives as long as the store.
    called: *const HostContext,
}

enum Progress<F, V> {
    Waits(F),
    Ready(Result<V>),
}

// SAFETY: what waits can be sent with its store, to which the context belongs.
unsafe impl<F: Send, V: Send, P: Send> Send for ValuesFuture<F, V, P> {}

impl<F, V, P> ValuesFuture<F, V, P>
where
    F: FnMut(&mut Context<'_>) -> Poll<Result<V>> + Send + 'static,
    V: Send + 'static,
    P: FnOnce(V, &HostContext, &RuntimeStore, *mut RawVal) -> Result<()> + Send + 'static,
{
    /// The rest of a function that was called with a context.
    #[inline]
    pub fn any(called: &HostContext, poll: F, put: P) -> AnyHostFuture {
        let called = ptr::from_ref(called);
        AnyHostFuture::new(ValuesFuture { progress: Progress::Waits(poll), put, called })
    }
}

impl<F, V, P> HostFuture for ValuesFuture<F, V, P>
where
    F: FnMut(&mut Context<'_>) -> Poll<Result<V>> + Send,
    V: Send,
    P: FnOnce(V, &HostContext, &RuntimeStore, *mut RawVal) -> Result<()> + Send,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Progress::Waits(poll) = &mut self.progress else {
            panic!("a host function was polled after it had ended");
        };
        poll(context).map(|values| self.progress = Progress::Ready(values))
    }

    fn finish(self, runtime: &mut RuntimeStore) -> Outcome {
        let ValuesFuture { progress, put, called } = self;
        let Progress::Ready(values) = progress else {
            unreachable!("a host function is concluded when it is ready");
        };
        // SAFETY: the context is that of a host function of the store, and lives as long.
        // The transfer area has room for the results of any function.
        unsafe {
            let called = &*called;
            runtime.tag_transferred(|runtime| {
                let ty = called_as(runtime, called);
                ty.results().iter().map(|ty| ValueClass::of(*ty)).collect()
            });
            let area = runtime.transfer_area();
            match values.and_then(|values| put(values, called, runtime, area)) {
                Ok(()) => Outcome::returned(0),
                Err(error) => fail(runtime, called, Ok(Err(error))),
            }
        }
    }
}
