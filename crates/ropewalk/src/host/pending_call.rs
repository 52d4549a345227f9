//! Pending host calls: host functions that are called and are not ready.
//!
//! The runtime owns such a call and its states ([`PendingCall`]). Here is what it polls, a
//! [`ValuesFuture`], and [`Later`], by which a sync function makes its call pending.

use crate::host::WasmRet;
use crate::host::caller::Caller;
use crate::host::concurrent::Accessor;
use crate::host::failure::fail;
use crate::host::signature::{Signature, Typed, called_as};
use crate::store::{self, StoreInner};
use crate::value::type_check::Fit;
use crate::value::wasm_values::WasmParams;
use anyhow::{Result, anyhow, ensure};
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{FuncType, HostContext, LeftCall, RawVal, ValType};
use ropewalk_runtime::{
    AnyHostFuture, HostFuture, PendingCall, Store as RuntimeStore, StoreId, TypeRegistry,
};
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::Mutex;
use std::task::{Context, Poll};
use thiserror::Error;

/// The error by which a host function says that its results come later: from a future.
/// [`Caller::later`] makes it, and has an example.
#[derive(Error)]
#[error("a `Later`, which only a host function that is not `async` can return")]
pub struct Later {
    /// The store, and so the type of its data.
    store: StoreId,
    /// Whether the output of the future fits as results of these types.
    fits: fn(&TypeRegistry, &[ValType]) -> bool,
    /// In a mutex, since errors must be `Sync`. Nothing ever waits for the mutex.
    begin: Mutex<Begin>,
}

/// Makes the future of a call with this context.
type Begin = Box<dyn FnOnce(Route, &HostContext) -> AnyHostFuture + Send>;

/// How a pending call reaches its store.
struct Route {
    owner: *mut c_void,
    /// The `Accessor` that the call is polled with, or null.
    accessor: *const c_void,
}

// SAFETY: only a future uses them: as long as nothing else uses the store, which can be sent, or
// through the accessor.
unsafe impl Send for Route {}

impl<T: Send + 'static> Caller<'_, T> {
    /// Whether the function may wait: its call was begun by
    /// [`call_async`](crate::TypedFunc::call_async) or the like, and is polled.
    pub fn can_wait(&self) -> bool {
        !self.store.0.runtime.running.poller().is_null()
    }

    /// Makes the error that a function returns to wait for a future. The output of the future
    /// becomes the function's results. The function must not be a future itself.
    ///
    /// As long as it need not wait, such a function costs what any other does. Both kinds of
    /// calls can call it:
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
    ///         return Err(caller.later(move |_| Box::pin(tokio::time::sleep(time))).into());
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
    /// The future uses the store by its [`Accessor`]. Other calls of
    /// [`Store::run_concurrent`](crate::Store::run_concurrent) run while it waits.
    pub fn later<F, Ret>(&self, rest: F) -> Later
    where
        F: for<'a> FnOnce(&'a Accessor<T>) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
        F: Send + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let begin = move |route: Route, context: &HostContext| {
            let mut future = Box::pin(async move {
                // SAFETY: `pending` has compared the stores.
                let access = unsafe { Access::<T>::new(route) };
                rest(access.accessor()).await.into_values()
            });
            ValuesFuture::any(
                context,
                move |context| future.as_mut().poll(context),
                // SAFETY: there is room for the results of any function.
                |values, context, runtime, places| unsafe {
                    Typed::<(), Ret::Values>::put(&(), values, context, runtime, places)
                },
            )
        };
        Later {
            store: self.store.0.runtime.id(),
            fits: |types, expected| Ret::Values::fit(types, expected) != Fit::Never,
            begin: Mutex::new(Box::new(begin)),
        }
    }
}

/// The accessor of a pending call.
enum Access<T> {
    /// The one that the call is polled with.
    Shared(*const Accessor<T>),
    Own(Box<Accessor<T>>),
}

// SAFETY: threads can share an accessor.
unsafe impl<T: Send> Send for Access<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Access<T> {}

impl<T> Access<T> {
    /// # Safety
    ///
    /// The route must lead to a store with data of this type, in which a call is pending as long
    /// as this lives.
    unsafe fn new(route: Route) -> Access<T> {
        let Route { owner, accessor } = route;
        if !accessor.is_null() {
            return Access::Shared(accessor.cast());
        }
        // SAFETY: only this call uses the store, and it does not run while it waits.
        Access::Own(Box::new(unsafe { Accessor::new(owner.cast::<StoreInner<T>>()) }))
    }

    fn accessor(&self) -> &Accessor<T> {
        match self {
            // SAFETY: it outlives the calls that are polled with it.
            Access::Shared(accessor) => unsafe { &**accessor },
            Access::Own(accessor) => accessor,
        }
    }
}

/// Leaves the call of a host function that has returned a [`Later`].
///
/// # Safety
///
/// The context must belong to the function, and the values be its arguments.
#[cold]
pub(super) unsafe fn leave(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    values: *const RawVal,
    later: Later,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        let ty = called_as(runtime, context);
        match pending(runtime, context, &ty, later) {
            Ok(pending) => runtime.leave_host_call(pending, LeftCall::of(&ty), context, values),
            Err(error) => fail(runtime, context, error),
        }
    }
}

fn pending(
    runtime: &RuntimeStore,
    context: &HostContext,
    ty: &FuncType,
    later: Later,
) -> Result<PendingCall> {
    let Later { store, fits, begin } = later;
    store::check(runtime, store, "pending host call")?;
    ensure!(
        fits(runtime.types(), ty.results()),
        "a host function of type {ty} returned a `Later` whose future has results of other types"
    );
    // SAFETY: it is valid as long as the activation, which runs.
    let polling = unsafe { runtime.running.poller().as_ref() }.ok_or_else(cannot_wait)?;
    let route = Route { owner: runtime.owner(), accessor: polling.accessor };
    let begin = begin.into_inner().expect("nothing panics while it is locked");
    Ok(PendingCall::unpolled(begin(route, context)))
}

pub(super) fn cannot_wait() -> anyhow::Error {
    anyhow!("a host function is not ready, and the call cannot wait for it: use `call_async`")
}

opaque_debug!(impl<> Later);

/// A future of values, as a function that polls it, with a function that writes the values as
/// results.
pub(super) struct ValuesFuture<F, V, P> {
    state: State<F, V>,
    put: P,
    /// The context that the host function was called with. It lives as long as the store.
    called: *const HostContext,
}

/// The runtime knows whether a call is ready, but not the values, which have a type only here. They
/// are kept from the poll until the call is finished.
enum State<F, V> {
    Pending(F),
    Ready(Result<V>),
}

// SAFETY: a pending call is sent together with its store, which the context belongs to.
unsafe impl<F: Send, V: Send, P: Send> Send for ValuesFuture<F, V, P> {}

impl<F, V, P> ValuesFuture<F, V, P>
where
    F: FnMut(&mut Context<'_>) -> Poll<Result<V>> + Send + 'static,
    V: Send + 'static,
    P: FnOnce(V, &HostContext, &RuntimeStore, *mut RawVal) -> Result<()> + Send + 'static,
{
    /// The future of a function that was called with this context.
    #[inline]
    pub fn any(called: &HostContext, poll: F, put: P) -> AnyHostFuture {
        let called = ptr::from_ref(called);
        AnyHostFuture::new(ValuesFuture { state: State::Pending(poll), put, called })
    }
}

impl<F, V, P> HostFuture for ValuesFuture<F, V, P>
where
    F: FnMut(&mut Context<'_>) -> Poll<Result<V>> + Send,
    V: Send,
    P: FnOnce(V, &HostContext, &RuntimeStore, *mut RawVal) -> Result<()> + Send,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let State::Pending(poll) = &mut self.state else {
            panic!("a host function was polled after it had ended");
        };
        poll(context).map(|values| self.state = State::Ready(values))
    }

    fn finish(self, runtime: &mut RuntimeStore) -> Outcome {
        let ValuesFuture { state, put, called } = self;
        let State::Ready(values) = state else {
            unreachable!("the runtime finishes a host call when it is ready");
        };
        // SAFETY: the context belongs to a host function of the store, and lives as long. The
        // transfer area has room for the results of any function.
        unsafe {
            let called = &*called;
            runtime.tag_transferred(|runtime| {
                let ty = called_as(runtime, called);
                ty.results().iter().map(|ty| ValueClass::of(*ty)).collect()
            });
            let area = runtime.transfer_area();
            match values.and_then(|values| put(values, called, runtime, area)) {
                Ok(()) => Outcome::returned(0),
                Err(error) => fail(runtime, called, error),
            }
        }
    }
}
