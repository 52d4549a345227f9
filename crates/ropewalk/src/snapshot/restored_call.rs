//! Calls of a store that was restored, which wait for a host function.

use crate::host::concurrent::{Accessor, ConcurrentCall};
use crate::host::polled_call::AsyncCall;
use crate::items::call::ended;
use crate::items::func::raw_values;
use crate::misuse::WrongStore;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Resumed;
use crate::stacks::owned::Held;
use crate::stacks::transfer::{classes, results_of};
use crate::store::{AsContextMut, StoreContextMut};
use crate::value::val::Val;
use anyhow::{Result, anyhow, bail, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{RawVal, ValType};
use ropewalk_runtime::host::continuation;
use ropewalk_runtime::run::pending;
use ropewalk_runtime::snapshot::{ImportName, RestoredCall as RuntimeCall, ResumedByHost};
use ropewalk_runtime::store::pending::CallerPlaces;
use ropewalk_runtime::{
    AnyHostFuture, HostFuture, NOBODY, PendingCall, Stop, Store as RuntimeStore, StoreId,
};

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A call that waits for a host function, in a store that was restored.
///
/// Resuming it takes it, and gives the results of the call in the end. If it is dropped, or given
/// values that it does not wait for, the call stays in the store, and nothing continues it; it is
/// in the store's next snapshot. [`Restored`](crate::Restored) has an
/// example.
pub struct RestoredCall {
    store: StoreId,
    import: Option<ImportName>,
    arguments: Option<Vec<Val>>,
    awaited: Vec<ValType>,
    results: Vec<ValType>,
    /// What the activation refers to: where the results are put, if not in a register, and the
    /// clauses of the host.
    places: Arc<CallerPlaces>,
    /// The continuation that the host has resumed, if it was no call of a function.
    resumed: Option<ResumedByHost>,
    pending: PendingCall,
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
    pub(crate) fn new(runtime: &mut RuntimeStore, call: RuntimeCall) -> RestoredCall {
        let RuntimeCall { import, arguments, awaited, results, places, resumed, pending } = call;
        // SAFETY: they are values of these types, and no references.
        let value = |(value, ty)| unsafe { Val::from_raw(runtime, &value, ty) };
        let arguments = arguments.map(|arguments| arguments.into_iter().map(value).collect());
        let store = runtime.id();
        RestoredCall { store, import, arguments, awaited, results, places, resumed, pending }
    }

    /// The host function that it waits for: the module that it is imported from, and its name.
    /// Nothing if it was stopped between two instructions.
    pub fn import(&self) -> Option<(&str, &str)> {
        self.import.as_ref().map(|import| (import.module.as_str(), import.name.as_str()))
    }

    /// What that function was called with, by which the host can call it again. Nothing if
    /// references are among them, and for the function that took the snapshot without having
    /// waited.
    pub fn arguments(&self) -> Option<&[Val]> {
        self.arguments.as_deref()
    }

    /// The types of the results that it waits for.
    pub fn awaited(&self) -> &[ValType] {
        &self.awaited
    }

    /// Whether it is no call of a function, but the host has resumed a continuation
    /// ([`Continuation::resume`](crate::Continuation::resume)). It may suspend then
    /// ([`resume_until_suspended`](Self::resume_until_suspended)).
    pub fn is_continuation(&self) -> bool {
        self.resumed.is_some()
    }

    /// Continues it with the results of the host function, until it has ended or, if it
    /// [is a continuation](Self::is_continuation), has suspended: it comes back with what
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
        self.give(&mut store, results)?;
        let RestoredCall { results, places, resumed, pending, .. } = self;
        let runtime = store.enter();
        // SAFETY: the activation is one of the store, which is borrowed.
        let stopped = unsafe { pending::resume_activation(runtime, pending, NOBODY) };
        if let Some(resumed) = &resumed {
            // SAFETY: the store is borrowed.
            unsafe { continuation::end_limit(runtime, resumed.reference, &stopped) };
        }
        let word = ended(stopped)?;
        came_back(&mut store, &results, &places, resumed, word)
    }

    /// The same in a future, which waits for host functions that are not ready.
    pub async fn resume_until_suspended_async(
        mut self,
        mut store: impl AsContextMut<Data: Send>,
        results: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        self.give(&mut store, results)?;
        let RestoredCall { results, places, resumed, pending, .. } = self;
        let runtime = store.enter();
        // SAFETY: this future has the store.
        let mut call = unsafe { AsyncCall::pending(runtime, pending) };
        let word = poll_fn(|context| call.poll_waiting(context)).await;
        drop(call);
        if let Some(resumed) = &resumed {
            let stopped = word.as_ref().map_err(|_| Stop::Failed(anyhow!("it has failed")));
            // SAFETY: this future has the store.
            unsafe { continuation::end_limit(store.enter(), resumed.reference, &stopped) };
        }
        came_back(&mut store, &results, &places, resumed, word?)
    }

    /// Continues it with the results of the host function; returns its own. If it suspends to the
    /// host, that is an error, and its stacks are freed.
    pub fn resume(self, store: impl AsContextMut, results: &[Val]) -> Result<Vec<Val>> {
        returned(self.resume_until_suspended(store, results)?)
    }

    /// The same in a future, which waits for host functions that are not ready.
    pub async fn resume_async(
        self,
        store: impl AsContextMut<Data: Send>,
        results: &[Val],
    ) -> Result<Vec<Val>> {
        returned(self.resume_until_suspended_async(store, results).await?)
    }

    /// The same while other calls run in the store
    /// ([`Store::run_concurrent`](crate::Store::run_concurrent)). It must not be a
    /// [continuation](Self::is_continuation).
    pub async fn resume_concurrent<T: Send>(
        self,
        accessor: &Accessor<T>,
        results: &[Val],
    ) -> Result<Vec<Val>> {
        ensure!(
            self.resumed.is_none(),
            "a continuation that the host has resumed has no other calls beside it"
        );
        // What the activation refers to is dropped after the call.
        let (types, places) = (self.results.clone(), self.places.clone());
        let mut call = ConcurrentCall::new(accessor);
        let mut waits = Some(self);
        let (word, _using) = poll_fn(|context| {
            if let Some(mut this) = waits.take() {
                return call.begin(context, |mut store, poller| {
                    this.give(&mut store, results)?;
                    // SAFETY: the activation is one of the store, which this has.
                    unsafe { pending::resume_activation(store.enter(), this.pending, poller) }
                });
            }
            call.poll(context)
        })
        .await?;
        // SAFETY: this thread has the store since the call has ended.
        let mut store = unsafe { accessor.store() };
        Ok(take_results(&mut store, &types, &places, word))
    }

    /// Gives it up, and frees its stacks.
    pub fn cancel(self, mut store: impl AsContextMut) -> Result<()> {
        let mut store = store.as_context_mut();
        self.check(&store)?;
        // SAFETY: the activation is one of the store, which is borrowed.
        unsafe { pending::cancel(store.enter(), self.pending) };
        Ok(())
    }

    fn check<T>(&self, store: &StoreContextMut<'_, T>) -> Result<(), WrongStore> {
        match store.0.runtime.id() == self.store {
            true => Ok(()),
            false => Err(WrongStore("call")),
        }
    }

    /// Gives it what it waits for.
    fn give<T>(&mut self, store: &mut StoreContextMut<'_, T>, results: &[Val]) -> Result<()> {
        self.check(store)?;
        let runtime = &*store.0.runtime;
        // A collection would not find references that wait here.
        let values = raw_values(runtime, &self.awaited, results)?;
        let types = self.awaited.clone();
        self.pending.fulfill(AnyHostFuture::new(Given { types, values }));
        Ok(())
    }
}

/// The results of a host function.
struct Given {
    types: Vec<ValType>,
    values: Vec<RawVal>,
}

impl HostFuture for Given {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn finish(self, runtime: &mut RuntimeStore) -> Outcome {
        let Given { types, values } = self;
        runtime.tag_transferred(|_| classes(&types));
        // SAFETY: the area has room for the results of any function.
        unsafe {
            values.as_ptr().copy_to_nonoverlapping(runtime.transfer_area(), values.len());
        }
        Outcome::returned(0)
    }
}

/// What a call has come back with.
fn came_back<T>(
    store: &mut StoreContextMut<'_, T>,
    results: &[ValType],
    places: &CallerPlaces,
    resumed: Option<ResumedByHost>,
    word: u64,
) -> Result<Resumed> {
    let Some(resumed) = resumed else {
        return Ok(Resumed::Returned(take_results(store, results, places, word)));
    };
    let ty = ContType::of_function(resumed.results);
    let runtime = &mut *store.0.runtime;
    let back = runtime.came_back(places.clauses());
    let held = Held::new(runtime, resumed.reference).taken();
    held.came_back(store, Ok(back), ty, |store| results_of(store, ty))
}

/// The results of what has returned.
fn returned(resumed: Resumed) -> Result<Vec<Val>> {
    match resumed {
        Resumed::Returned(results) => Ok(results),
        Resumed::Suspended { .. } => bail!(
            "the call is a continuation that the host has resumed, and has suspended: use \
             `resume_until_suspended`"
        ),
    }
}

/// The results of a call, which are in an array or in a word.
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
    // SAFETY: the function has put values of these types there.
    taken.map(|(ty, value)| unsafe { Val::from_raw(runtime, value, *ty) }).collect()
}
