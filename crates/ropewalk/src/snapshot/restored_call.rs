//! Pending host calls of a restored store.

use crate::host::async_call::entered;
use crate::host::concurrent::Accessor;
use crate::items::call_error::ended;
use crate::items::func::raw_values;
use crate::misuse::WrongStore;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Resumed;
use crate::stacks::stack_handle::StackHandle;
use crate::stacks::transfer::{classes, results_of};
use crate::store::{AsContextMut, StoreContextMut};
use crate::value::val::Val;
use anyhow::{Result, bail, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{RawVal, ValType};
use ropewalk_runtime::run::pending;
use ropewalk_runtime::snapshot::{ImportName, RestoredCall as RuntimeCall, ResumedByHost};
use ropewalk_runtime::store::pending_activations::CallerPlaces;
use ropewalk_runtime::{
    AnyHostFuture, HostFuture, NO_POLLER, PendingCall, Store as RuntimeStore, StoreId,
};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A call into WebAssembly that waits for a host function, in a restored store.
///
/// Resuming it takes it, and returns the results of the call. If it is dropped, or resumed with
/// values of wrong types, the call stays in the store, and nothing continues it. It is in the
/// store's next snapshot. [`Restored`](crate::Restored) has an example.
pub struct RestoredCall {
    store: StoreId,
    import: Option<ImportName>,
    arguments: Option<Vec<Val>>,
    awaited: Vec<ValType>,
    results: Vec<ValType>,
    /// What the activation refers to: the places of the results, if they are not in a register, and
    /// the clauses of the host.
    places: Arc<CallerPlaces>,
    /// The continuation that the host has resumed, if this is not a call of a function.
    resumed: Option<ResumedByHost>,
    pending: PendingCall,
}

// SAFETY: it is used only with its store, which can be sent between calls.
unsafe impl Send for RestoredCall {}
// SAFETY: a shared reference only says what the call waits for.
unsafe impl Sync for RestoredCall {}

impl fmt::Debug for RestoredCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoredCall").field("import", &self.import()).finish_non_exhaustive()
    }
}

impl RestoredCall {
    pub(crate) fn new(runtime: &mut RuntimeStore, call: RuntimeCall) -> RestoredCall {
        let RuntimeCall { import, arguments, awaited, results, places, resumed, pending } = call;
        // SAFETY: the values have these types, and none is a reference.
        let value = |(value, ty)| unsafe { Val::from_raw(runtime, &value, ty) };
        let arguments = arguments.map(|arguments| arguments.into_iter().map(value).collect());
        let store = runtime.id();
        RestoredCall { store, import, arguments, awaited, results, places, resumed, pending }
    }

    /// The host function that it waits for: the module that it is imported from, and its name.
    /// `None` if the call was stopped at a safepoint.
    pub fn import(&self) -> Option<(&str, &str)> {
        self.import.as_ref().map(|import| (import.module.as_str(), import.name.as_str()))
    }

    /// The arguments of that function, so that the host can call it again. `None` if references
    /// are among them, and for the function that took the snapshot before it waited.
    pub fn arguments(&self) -> Option<&[Val]> {
        self.arguments.as_deref()
    }

    /// The types of the results that it waits for.
    pub fn awaited(&self) -> &[ValType] {
        &self.awaited
    }

    /// Whether the host had resumed a continuation
    /// ([`Continuation::resume`](crate::Continuation::resume)), and not called a function. Then the
    /// call may suspend ([`resume_until_suspended`](Self::resume_until_suspended)).
    pub fn is_continuation(&self) -> bool {
        self.resumed.is_some()
    }

    // This is no `HostSwitch`: its values are in the pending call and not in the transfer area, and
    // it may return a word.
    /// Continues it with the results of the host function, until it ends, or suspends if it
    /// [is a continuation](Self::is_continuation). Returns what
    /// [`Continuation::resume`](crate::Continuation::resume) would have returned, with the same
    /// clauses.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "ask" (func $ask (result i32)))
    ///       (tag $yield (export "yield") (param i32))
    ///       (func (export "run") (result i32)
    ///         (suspend $yield (call $ask))
    ///         (i32.const 5)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "ask", |mut caller: Caller<'_, Option<Snapshot>>| {
    ///     let snapshot = caller.snapshot(&SnapshotOptions::new())?;
    ///     *caller.data_mut() = Some(snapshot);
    ///     Ok::<i32, Error>(1)
    /// })?;
    /// let mut store = Store::new(&engine, None);
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_func(&mut store, "run").unwrap();
    /// let run = Continuation::new(&mut store, run)?;
    /// drop(run.resume(&mut store, &[])?);
    ///
    /// let snapshot = store.into_data().unwrap();
    /// let mut restored = snapshot.restore(&linker, &[module], None)?;
    /// let call = restored.calls.pop().unwrap();
    /// assert!(call.is_continuation());
    /// let Resumed::Suspended { values, continuation, .. } =
    ///     call.resume_until_suspended(&mut restored.store, &[Val::I32(2)])?
    /// else {
    ///     panic!("it suspends");
    /// };
    /// assert_eq!(values[0].i32(), Some(2));
    /// let Resumed::Returned(results) = continuation.resume(&mut restored.store, &[])? else {
    ///     panic!("it returns");
    /// };
    /// assert_eq!(results[0].i32(), Some(5));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn resume_until_suspended(
        mut self,
        mut store: impl AsContextMut,
        results: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        self.fulfill(&mut store, results)?;
        let RestoredCall { results, places, resumed, pending, .. } = self;
        // SAFETY: the activation belongs to the store, which is borrowed.
        let ended = ended(unsafe { pending::resume_activation(store.enter(), pending, NO_POLLER) });
        came_back(&mut store, &results, &places, resumed, ended)
    }

    /// Continues it in a future, which waits for pending host calls, as for
    /// [`resume_until_suspended`](Self::resume_until_suspended).
    pub async fn resume_until_suspended_async(
        mut self,
        mut store: impl AsContextMut<Data: Send>,
        results: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        self.fulfill(&mut store, results)?;
        let RestoredCall { results, places, resumed, pending, .. } = self;
        let resume = |mut store: StoreContextMut<'_, _>, poller| {
            // SAFETY: the activation belongs to the store, which is borrowed.
            unsafe { pending::resume_activation(store.enter(), pending, poller) }
        };
        // SAFETY: as above.
        let ended = unsafe { entered(&mut store, resume) }.await;
        came_back(&mut store, &results, &places, resumed, ended)
    }

    /// Continues it with the results of the host function, and returns its own results. If it
    /// suspends to the host, that is an error, and its stacks are freed.
    pub fn resume(self, store: impl AsContextMut, results: &[Val]) -> Result<Vec<Val>> {
        returned(self.resume_until_suspended(store, results)?)
    }

    /// Continues it in a future, which waits for pending host calls, as for
    /// [`resume`](Self::resume).
    pub async fn resume_async(
        self,
        store: impl AsContextMut<Data: Send>,
        results: &[Val],
    ) -> Result<Vec<Val>> {
        returned(self.resume_until_suspended_async(store, results).await?)
    }

    /// Continues it, as for [`resume`](Self::resume), while other calls run in the store
    /// ([`Store::run_concurrent`](crate::Store::run_concurrent)). It must not be a
    /// [continuation](Self::is_continuation).
    pub async fn resume_concurrent<T: Send>(
        mut self,
        accessor: &Accessor<T>,
        results: &[Val],
    ) -> Result<Vec<Val>> {
        ensure!(
            self.resumed.is_none(),
            "a restored continuation cannot be resumed while other calls run in its store"
        );
        // What the activation refers to is dropped after the call.
        let (types, places) = (self.results.clone(), self.places.clone());
        let resume = |mut store: StoreContextMut<'_, T>, poller| {
            self.fulfill(&mut store, results)?;
            // SAFETY: the activation belongs to the store, which is locked.
            unsafe { pending::resume_activation(store.enter(), self.pending, poller) }
        };
        let (word, _using) = accessor.run_call(resume).await?;
        // SAFETY: the store is locked since the call has ended.
        let mut store = unsafe { accessor.store() };
        Ok(take_results(&mut store, &types, &places, word))
    }

    /// Cancels it, and frees its stacks.
    pub fn cancel(self, mut store: impl AsContextMut) -> Result<()> {
        let mut store = store.as_context_mut();
        self.check(&store)?;
        // SAFETY: the activation belongs to the store, which is borrowed.
        unsafe { pending::cancel(store.enter(), self.pending) };
        Ok(())
    }

    fn check<T>(&self, store: &StoreContextMut<'_, T>) -> Result<(), WrongStore> {
        match store.0.runtime.id() == self.store {
            true => Ok(()),
            false => Err(WrongStore("call")),
        }
    }

    fn fulfill<T>(&mut self, store: &mut StoreContextMut<'_, T>, results: &[Val]) -> Result<()> {
        self.check(store)?;
        let runtime = &*store.0.runtime;
        // The values must be no references: a collection would not find them here.
        let values = raw_values(runtime, &self.awaited, results)?;
        let types = self.awaited.clone();
        self.pending.fulfill(AnyHostFuture::new(HostResults { types, values }));
        Ok(())
    }
}

/// The results of a host function, as a future that is ready.
struct HostResults {
    types: Vec<ValType>,
    values: Vec<RawVal>,
}

impl HostFuture for HostResults {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn finish(self, runtime: &mut RuntimeStore) -> Outcome {
        let HostResults { types, values } = self;
        runtime.tag_transferred(|_| classes(&types));
        // SAFETY: the area has room for the results of any function.
        unsafe {
            values.as_ptr().copy_to_nonoverlapping(runtime.transfer_area(), values.len());
        }
        Outcome::returned(0)
    }
}

fn came_back<T>(
    store: &mut StoreContextMut<'_, T>,
    results: &[ValType],
    places: &CallerPlaces,
    resumed: Option<ResumedByHost>,
    ended: Result<u64>,
) -> Result<Resumed> {
    let Some(resumed) = resumed else {
        return Ok(Resumed::Returned(take_results(store, results, places, ended?)));
    };
    let runtime = &mut *store.0.runtime;
    runtime.end_limit(resumed.reference, ended.is_err());
    ended?;
    let ty = ContType::of_function(resumed.results);
    let spent = StackHandle::new(runtime, resumed.reference).spend();
    spent.came_back(store, places.clauses(), ty, results_of)
}

fn returned(resumed: Resumed) -> Result<Vec<Val>> {
    match resumed {
        Resumed::Returned(results) => Ok(results),
        Resumed::Suspended { .. } => bail!(
            "the call resumed a continuation, which has suspended: use `resume_until_suspended`"
        ),
    }
}

/// The results of a call, in an array or in a word.
fn take_results<T>(
    store: &mut StoreContextMut<'_, T>,
    types: &[ValType],
    places: &CallerPlaces,
    word: u64,
) -> Vec<Val> {
    let word = [RawVal::from_u64(word)];
    // SAFETY: the activation has returned.
    let values = unsafe { places.values() }.unwrap_or(&word);
    let runtime = &mut *store.0.runtime;
    let taken = types.iter().zip(values);
    // SAFETY: the function has written values of these types.
    taken.map(|(ty, value)| unsafe { Val::from_raw(runtime, value, *ty) }).collect()
}
