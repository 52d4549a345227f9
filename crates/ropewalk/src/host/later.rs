//! Host functions that find out only when they are called that they have to wait.
//!
//! A function that [is a future](crate::Linker::func_wrap_async) makes one at each
//! call. One that seldom waits does not want to pay for that. It is an ordinary
//! function, and returns the rest of itself as its error when it has to wait, as it
//! returns a [suspension](crate::Suspension).

use crate::host::caller::Caller;
use crate::host::concurrent::Accessor;
use crate::host::pending::ValuesFuture;
use crate::host::{self, WasmRet, called_as, fail};
use crate::store::{self, StoreInner};
use anyhow::{Result, anyhow, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{FuncType, HostContext, LeftCall, RawVal, ValType};
use ropewalk_runtime::{AnyHostFuture, PendingCall, Store as RuntimeStore, StoreId, TypeRegistry};
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

/// The rest of a host function, as its error: a future, whose output is what the
/// function returns. [`Caller::later`] makes it, and has an example.
pub struct Later {
    /// The store, and so the type of its data.
    store: StoreId,
    /// Whether the output of the future fits as results of these types.
    fits: fn(&TypeRegistry, &[ValType]) -> bool,
    /// In a mutex, so that it can be part of an error: nobody waits for it.
    begin: Mutex<Begin>,
}

/// Makes the future, as the rest of a function that was called with a context.
type Begin = Box<dyn FnOnce(Whereabouts, &HostContext) -> AnyHostFuture + Send>;

/// Where a rest finds its store.
struct Whereabouts {
    /// A `StoreInner`.
    owner: *mut c_void,
    /// The `Accessor` that the call is polled with, or null.
    accessor: *const c_void,
}

// SAFETY: they are used by a future, where a store that can be sent is used by nobody
// else, or through the accessor.
unsafe impl Send for Whereabouts {}

impl<T: Send + 'static> Caller<'_, T> {
    /// Whether the function may wait: the call that it belongs to was begun by
    /// [`call_async`](crate::TypedFunc::call_async) or the like, and is polled.
    pub fn can_wait(&self) -> bool {
        !self.store.0.runtime.poller().is_null()
    }

    /// The rest of this function as a future, which the function returns as its error
    /// when it has to wait. It must not be a future itself.
    ///
    /// A function of this kind costs what any other does as long as it need not wait.
    /// It can be called by both kinds of calls:
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "sleep" (func $sleep (param i64)))
    ///       (export "run" (func $sleep)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "sleep", |caller: Caller<'_, ()>, time: u64| -> Result<()> {
    ///     let time = Duration::from_millis(time);
    ///     if caller.can_wait() {
    ///         let rest = caller.later(move |_| Box::pin(tokio::time::sleep(time)));
    ///         return Err(rest.into());
    ///     }
    ///     std::thread::sleep(time);
    ///     Ok(())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<u64, ()>(&mut store, "run")?;
    /// run.call(&mut store, 1)?;
    /// run.call_async(&mut store, 1).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// It uses the store by its [`Accessor`]; other calls of
    /// [`Store::run_concurrent`](crate::Store::run_concurrent) run while it waits.
    pub fn later<F, Ret>(&self, rest: F) -> Later
    where
        F: for<'a> FnOnce(&'a Accessor<T>) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
        F: Send + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let begin = move |whereabouts: Whereabouts, context: &HostContext| {
            let mut future = Box::pin(async move {
                // SAFETY: `leave` has compared the stores.
                let access = unsafe { Access::<T>::new(whereabouts) };
                rest(access.accessor()).await.into_values()
            });
            ValuesFuture::any(
                context,
                move |context| future.as_mut().poll(context),
                // SAFETY: there is room for the results of any function.
                |values, context, runtime, places| unsafe {
                    host::put(values, context, runtime, places)
                },
            )
        };
        Later {
            store: self.store.0.runtime.id(),
            fits: |types, expected| host::results_fit::<Ret::Values>(types, &[], expected),
            begin: Mutex::new(Box::new(begin)),
        }
    }
}

/// An accessor, of a call that is one of many or of its own.
enum Access<T> {
    Shared(*const Accessor<T>),
    Own(Box<Accessor<T>>),
}

// SAFETY: an accessor can be shared by threads.
unsafe impl<T: Send> Send for Access<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Access<T> {}

impl<T> Access<T> {
    /// # Safety
    ///
    /// They must be those of a store with data of this type, of a call that waits in it
    /// as long as this lives.
    unsafe fn new(whereabouts: Whereabouts) -> Access<T> {
        let Whereabouts { owner, accessor } = whereabouts;
        if !accessor.is_null() {
            return Access::Shared(accessor.cast());
        }
        // SAFETY: only this call uses the store, and it does not run while it waits.
        Access::Own(Box::new(unsafe { Accessor::new(owner.cast::<StoreInner<T>>()) }))
    }

    fn accessor(&self) -> &Accessor<T> {
        match self {
            // SAFETY: it lives longer than the calls that are polled with it.
            Access::Shared(accessor) => unsafe { &**accessor },
            Access::Own(accessor) => accessor,
        }
    }
}

/// Leaves the call of a host function, which has returned the rest of itself.
///
/// # Safety
///
/// The context must be that of the function, and the values be its arguments.
#[cold]
pub(crate) unsafe fn leave(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    values: *const RawVal,
    later: Later,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        let ty = called_as(runtime, context);
        match waiting(runtime, context, &ty, later) {
            Ok(waiting) => runtime.wait_for_host(waiting, LeftCall::of(&ty), context, values),
            Err(error) => fail(runtime, context, Ok(Err(error))),
        }
    }
}

fn waiting(
    runtime: &RuntimeStore,
    context: &HostContext,
    ty: &FuncType,
    later: Later,
) -> Result<PendingCall> {
    let Later { store, fits, begin } = later;
    store::check(runtime, store, "pending host call")?;
    ensure!(
        fits(runtime.types(), ty.results()),
        "a host function of type {ty} returned a rest whose results are of other types"
    );
    // SAFETY: it is valid as long as the activation, which runs.
    let polling = unsafe { runtime.poller().as_ref() }.ok_or_else(cannot_wait)?;
    let whereabouts = Whereabouts { owner: runtime.owner(), accessor: polling.accessor };
    let begin = begin.into_inner().expect("nobody panics with it");
    Ok(PendingCall::unpolled(begin(whereabouts, context)))
}

/// What is wrong if a host function has to wait in a call that nobody polls.
pub(crate) fn cannot_wait() -> anyhow::Error {
    anyhow!("a host function is not ready, and the call cannot wait for it: use `call_async`")
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").finish_non_exhaustive()
    }
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the rest of a host function, which only a function that is no future can return",
        )
    }
}

impl std::error::Error for Later {}
