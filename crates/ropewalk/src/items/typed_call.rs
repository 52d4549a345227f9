//! Futures of calls with Rust's types.

use crate::host::async_call::{AsyncCall, polling};
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

/// The future of a call. Its fields are dropped in this order: the call before its store.
pub(super) struct TypedCall<'f, S, Params: WasmParams, Results: WasmParams> {
    waiting: Option<AsyncCall>,
    /// The arguments, until the call begins.
    params: Option<Params>,
    /// Places of arguments and results. They do not move once the call has begun.
    values: Places<Params, Results>,
    func: &'f TypedFunc<Params, Results>,
    store: S,
    _pinned: PhantomPinned,
}

impl<S, Params, Results> Future for TypedCall<'_, S, Params, Results>
where
    S: AsContextMut<Data: Send>,
    Params: WasmParams,
    Results: WasmResults,
{
    type Output = Result<Results>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Results>> {
        // SAFETY: only the parameters are moved out of it, which are not pinned.
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
            None => this.resume(context),
        };
        // SAFETY: the call has ended and has written its results.
        word.map_ok(|word| unsafe {
            let store = this.store.as_context_mut();
            this.func.results(&mut store.0.runtime, this.values.as_mut_ptr(), word)
        })
    }
}

impl<'f, S, Params, Results> TypedCall<'f, S, Params, Results>
where
    S: AsContextMut<Data: Send>,
    Params: WasmParams,
    Results: WasmResults,
{
    /// A call that begins when it is first polled.
    #[inline]
    pub fn new(func: &'f TypedFunc<Params, Results>, store: S, params: Params) -> Self {
        let (waiting, params, values) = (None, Some(params), Places::EMPTY);
        TypedCall { waiting, params, values, func, store, _pinned: PhantomPinned }
    }

    /// Keeps a call that waits, or returns why it has failed.
    #[cold]
    fn stopped(&mut self, stop: Stop, context: &Context<'_>) -> Poll<Result<u64>> {
        // SAFETY: this future borrows the store.
        let mut call = unsafe { AsyncCall::new(self.store.as_context_mut().enter()) };
        let polled = call.stopped(stop);
        if polled.is_pending() {
            self.waiting.insert(call).announce(context.waker());
        }
        polled
    }

    fn resume(&mut self, context: &mut Context<'_>) -> Poll<Result<u64>> {
        let call = self.waiting.as_mut().expect("a call is not polled after it has ended");
        let polled = call.poll(context);
        if polled.is_ready() {
            self.waiting = None;
        }
        polled
    }
}
