//! Calls with Rust's types, as futures.

use crate::host::polled_call::{AsyncCall, polling};
use crate::items::typed_func::TypedFunc;
use crate::store::AsContextMut;
use crate::value::wasm_values::{Places, WasmParams, WasmResults};
use anyhow::Result;
use ropewalk_runtime::Stop;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// A call that may wait. What it has is dropped in this order: the call before its store.
pub(crate) struct CallAsync<'f, S, Params: WasmParams, Results: WasmParams> {
    /// The call, while it waits.
    waits: Option<AsyncCall>,
    /// What it is begun with, until it is.
    params: Option<Params>,
    /// Arguments and results, in places that do not move once the call has begun.
    values: Places<Params, Results>,
    func: &'f TypedFunc<Params, Results>,
    store: S,
    _pinned: PhantomPinned,
}

impl<S, Params, Results> Future for CallAsync<'_, S, Params, Results>
where
    S: AsContextMut<Data: Send>,
    Params: WasmParams,
    Results: WasmResults,
{
    type Output = Result<Results>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Results>> {
        // SAFETY: nothing is moved out of it but the parameters, which are not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let word = match this.params.take() {
            Some(params) => {
                let store = this.store.as_context_mut();
                let mut polling = polling(context, ptr::null());
                // SAFETY: the places are pinned with the future.
                let begun = unsafe {
                    this.func.begin(store, params, this.values.as_mut_ptr(), &mut polling)
                };
                match begun {
                    Ok(word) => Poll::Ready(Ok(word)),
                    Err(stop) => this.stopped(stop, context),
                }
            }
            None => this.go_on(context),
        };
        // SAFETY: the results are in their places when the call has ended.
        word.map_ok(|word| unsafe {
            let store = this.store.as_context_mut();
            this.func.results(&mut store.0.runtime, this.values.as_mut_ptr(), word)
        })
    }
}

impl<'f, S, Params, Results> CallAsync<'f, S, Params, Results>
where
    S: AsContextMut<Data: Send>,
    Params: WasmParams,
    Results: WasmResults,
{
    /// A call that begins when it is first polled.
    #[inline]
    pub fn new(func: &'f TypedFunc<Params, Results>, store: S, params: Params) -> Self {
        let (waits, params, values) = (None, Some(params), Places::EMPTY);
        CallAsync { waits, params, values, func, store, _pinned: PhantomPinned }
    }

    /// Notes that the call waits, or says how it has failed.
    #[cold]
    fn stopped(&mut self, stop: Stop, context: &Context<'_>) -> Poll<Result<u64>> {
        // SAFETY: this has the store.
        let mut call = unsafe { AsyncCall::new(self.store.as_context_mut().enter()) };
        let polled = call.stopped(stop);
        if polled.is_pending() {
            self.waits.insert(call).announce(context.waker());
        }
        polled
    }

    /// Continues a call that waits, if what it waits for is ready.
    fn go_on(&mut self, context: &mut Context<'_>) -> Poll<Result<u64>> {
        let call = self.waits.as_mut().expect("a call is not polled after it has ended");
        let polled = call.poll_waiting(context);
        if polled.is_ready() {
            self.waits = None;
        }
        polled
    }
}
