//! Calls of a store that was restored, which wait for a host function.

use crate::call::public_error;
use crate::func::raw_values;
use crate::misuse::WrongStore;
use crate::store::{AsContextMut, StoreContextMut};
use crate::transfer::classes;
use crate::val::Val;
use crate::waiting::WaitingCall;
use anyhow::Result;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{RawVal, ValType};
use ropewalk_runtime::pending;
use ropewalk_runtime::snapshot::{ImportName, RestoredCall as RuntimeCall};
use ropewalk_runtime::{AnyRest, NOBODY, Pending, Rest, Stop, Store as RuntimeStore, StoreId};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// A call that waits for a host function, in a store that was restored.
///
/// Resuming it takes it, and gives the results of the call in the end. If it is dropped, the
/// call stays in the store, and nothing continues it. [`Restored`](crate::Restored) has an
/// example.
pub struct RestoredCall {
    store: StoreId,
    import: Option<ImportName>,
    awaited: Vec<ValType>,
    results: Vec<ValType>,
    /// Where the results are put, if not in a register. Its address is on the stack.
    values: Option<Box<[RawVal]>>,
    pending: Pending,
}

// SAFETY: it is used only together with its store, which can be sent between calls.
unsafe impl Send for RestoredCall {}
// SAFETY: a shared one can only be asked what it waits for.
unsafe impl Sync for RestoredCall {}

impl fmt::Debug for RestoredCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoredCall").field("import", &self.import()).finish_non_exhaustive()
    }
}

impl RestoredCall {
    pub(crate) fn new(runtime: &RuntimeStore, call: RuntimeCall) -> RestoredCall {
        let RuntimeCall { import, awaited, results, values, pending } = call;
        RestoredCall { store: runtime.id(), import, awaited, results, values, pending }
    }

    /// The host function that it waits for: the module that it is imported from, and its name.
    /// Nothing if it was stopped between two instructions.
    pub fn import(&self) -> Option<(&str, &str)> {
        self.import.as_ref().map(|import| (import.module.as_str(), import.name.as_str()))
    }

    /// The types of the results that it waits for.
    pub fn awaited(&self) -> &[ValType] {
        &self.awaited
    }

    /// Continues it with the results of the host function; returns its own.
    pub fn resume(mut self, mut store: impl AsContextMut, results: &[Val]) -> Result<Vec<Val>> {
        let mut store = store.as_context_mut();
        self.give(&mut store, results)?;
        let runtime = store.enter();
        // SAFETY: the activation is one of the store, which is borrowed.
        let word = unsafe { pending::thaw(runtime, self.pending, NOBODY) };
        let word = word.map_err(Stop::into_error).map_err(public_error)?;
        Ok(take_results(&mut store, &self.results, self.values.as_deref(), word))
    }

    /// The same in a future, which waits for host functions that are not ready.
    pub async fn resume_async(
        mut self,
        mut store: impl AsContextMut<Data: Send>,
        results: &[Val],
    ) -> Result<Vec<Val>> {
        let mut store = store.as_context_mut();
        self.give(&mut store, results)?;
        let RestoredCall { results, values, pending, .. } = self;
        // SAFETY: this future has the store.
        let mut call = unsafe { WaitingCall::waits(store.enter(), pending) };
        let word = poll_fn(|context| call.poll_waiting(context)).await?;
        drop(call);
        Ok(take_results(&mut store, &results, values.as_deref(), word))
    }

    /// Gives it what it waits for.
    fn give<T>(&mut self, store: &mut StoreContextMut<'_, T>, results: &[Val]) -> Result<()> {
        let runtime = &*store.0.runtime;
        if runtime.id() != self.store {
            return Err(WrongStore("call").into());
        }
        // A collection would not find references that wait here.
        let values = raw_values(runtime, &self.awaited, results)?;
        let types = self.awaited.clone();
        self.pending.waiting.rest = AnyRest::new(Given { types, values });
        Ok(())
    }
}

/// The results of a host function.
struct Given {
    types: Vec<ValType>,
    values: Vec<RawVal>,
}

impl Rest for Given {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn conclude(self, runtime: &mut RuntimeStore) -> Outcome {
        let Given { types, values } = self;
        runtime.tag_transferred(|_| classes(&types));
        // SAFETY: the area has room for the results of any function.
        unsafe {
            values.as_ptr().copy_to_nonoverlapping(runtime.transfer_area(), values.len());
        }
        Outcome::returned(0)
    }
}

/// The results of a call, which are in an array or in a word.
fn take_results<T>(
    store: &mut StoreContextMut<'_, T>,
    types: &[ValType],
    values: Option<&[RawVal]>,
    word: u64,
) -> Vec<Val> {
    let word = [RawVal::from_u64(word)];
    let values = values.unwrap_or(&word);
    let runtime = &mut *store.0.runtime;
    let taken = types.iter().zip(values);
    // SAFETY: the function has put values of these types there.
    taken.map(|(ty, value)| unsafe { Val::from_raw(runtime, value, *ty) }).collect()
}
