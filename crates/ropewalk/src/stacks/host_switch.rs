//! Switches from the host to a stack, in a sync call or in a future.

use crate::host::async_call::entered;
use crate::items::call_error::ended;
use crate::store::StoreContextMut;
use anyhow::Result;
use ropewalk_runtime::{NO_POLLER, Poller, Stop, Store as RuntimeStore};
use std::ptr::NonNull;

/// A switch that is about to begin. Its values are in the transfer area.
pub(super) struct HostSwitch<S, E, F> {
    state: S,
    enter: E,
    finish: F,
}

/// Enters WebAssembly on a stack.
pub(super) trait Enter<S>:
    FnOnce(&S, NonNull<RuntimeStore>, Poller) -> Result<(), Stop>
{
}

impl<S, E: FnOnce(&S, NonNull<RuntimeStore>, Poller) -> Result<(), Stop>> Enter<S> for E {}

/// Reads what came back from the transfer area, or handles the error of the activation.
pub(super) trait Finish<S, T, R>:
    FnOnce(S, &mut StoreContextMut<'_, T>, Result<()>) -> Result<R>
{
}

impl<S, T, R, F> Finish<S, T, R> for F where
    F: FnOnce(S, &mut StoreContextMut<'_, T>, Result<()>) -> Result<R>
{
}

impl<S, E: Enter<S>, F> HostSwitch<S, E, F> {
    /// A switch that `enter` begins, and that `finish` ends.
    ///
    /// # Safety
    ///
    /// `enter` must be sound to call once, with the store that has the values, if the state does not
    /// move until the switch has ended.
    #[inline(always)]
    pub unsafe fn new<T, R>(state: S, enter: E, finish: F) -> HostSwitch<S, E, F>
    where
        F: Finish<S, T, R>,
    {
        HostSwitch { state, enter, finish }
    }

    #[inline(always)]
    pub fn run<T, R>(self, store: &mut StoreContextMut<'_, T>) -> Result<R>
    where
        F: Finish<S, T, R>,
    {
        let HostSwitch { state, enter, finish } = self;
        let ended = ended(enter(&state, store.enter(), NO_POLLER));
        finish(state, store, ended)
    }

    /// Runs it in a future, which waits for pending host calls.
    pub async fn run_async<T, R>(self, store: &mut StoreContextMut<'_, T>) -> Result<R>
    where
        F: Finish<S, T, R>,
    {
        let HostSwitch { state, enter, finish } = self;
        // Stacks that are left in a pending call may point to it.
        let state = Box::new(state);
        let begin = |mut store: StoreContextMut<'_, T>, poller| {
            enter(&state, store.enter(), poller).map(|()| 0)
        };
        // SAFETY: the creator of this promised that it is sound. The values were put into the
        // transfer area just before.
        let ended = unsafe { entered(store, begin) }.await;
        finish(*state, store, ended.map(drop))
    }
}
