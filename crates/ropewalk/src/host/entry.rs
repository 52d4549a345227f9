//! The entry points of host functions: the one path by which WebAssembly calls them.
//!
//! An entry point is an `extern "C"` function, instantiated for each closure. It takes the
//! arguments from registers or from an array, calls the closure, and puts the results there. What
//! differs between kinds of functions is their [`HostCode`]:
//!
//! ```text
//!   entry_in_registers --+--> run --> HostCode::call --> results in the array
//!   entry ---------------'                  |--> the call is left: it is pending
//!                                           '--> HostCode::fail: it throws, suspends, or ends
//! ```

use crate::host::caller::Caller;
use crate::host::failure::{self, leave_or_fail};
use crate::host::signature::Signature;
use crate::host::{HostClosure, ResultsFit};
use crate::store::StoreInner;
use anyhow::{Error, Result};
use ropewalk_abi::builtin::{CONTINUE, Outcome};
use ropewalk_abi::signature::{WORDS, in_registers};
use ropewalk_abi::{HostContext, RawVal};
use ropewalk_runtime::embedder::guarded;
use ropewalk_runtime::{Ending, Store as RuntimeStore};
use std::convert::Infallible;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The shape of [`HostContext::function`].
type HostEntry = unsafe extern "C" fn(*const HostContext, *mut RawVal) -> Outcome;

/// The same, for functions that take and return few words.
type RegisterEntry =
    unsafe extern "C" fn(*const HostContext, u64, u64, u64, u64, f64, f64, f64, f64) -> Outcome;

/// What a host function does when it is called.
pub(crate) trait HostCode {
    /// The data of the stores that can use the function.
    type Data;
    type Signature: Signature;
    type Func: Send + Sync + 'static;
    /// How a call is left that is not ready; [`Infallible`] if it is always ready.
    type Left;

    /// Calls the function. When this returns `None`, the results are in `values`. The scope of
    /// its references begins at `scope`.
    ///
    /// # Safety
    ///
    /// `values` must hold arguments of the function's type, with room for its results. `context`
    /// must belong to the function, and to a store whose data has the type `Self::Data`. Nothing
    /// else may use the store. The closure must outlive the call.
    unsafe fn call(
        closure: &'static ClosureOf<Self>,
        context: &HostContext,
        values: *mut RawVal,
        scope: usize,
    ) -> Result<Option<Self::Left>>;

    fn left(left: Self::Left) -> Outcome;

    /// Handles an error of the function.
    ///
    /// # Safety
    ///
    /// As for [`call`](Self::call).
    unsafe fn fail(
        runtime: &mut RuntimeStore,
        context: &HostContext,
        values: *const RawVal,
        error: Error,
    ) -> Outcome;
}

/// What a host function closes over, at [`HostContext::data`].
pub(crate) struct Closure<D, F> {
    pub signature: D,
    pub func: F,
}

pub(crate) type ClosureOf<C> =
    Closure<<<C as HostCode>::Signature as Signature>::Data, <C as HostCode>::Func>;

impl HostClosure {
    /// A closure whose entry point runs this code.
    pub(crate) fn new<C: HostCode>(
        signature: <C::Signature as Signature>::Data,
        func: C::Func,
    ) -> HostClosure {
        let ty = C::Signature::ty(&signature);
        let entry = match in_registers(&ty) {
            true => entry_in_registers::<C> as RegisterEntry as *const c_void,
            false => entry::<C> as HostEntry as *const c_void,
        };
        let results_fit: ResultsFit = C::Signature::results_fit;
        HostClosure { ty, entry, results_fit, data: Box::new(Closure { signature, func }) }
    }
}

/// Calls a function whose arguments and results are in an array.
unsafe extern "C" fn entry<C: HostCode>(
    context: *const HostContext,
    values: *mut RawVal,
) -> Outcome {
    // SAFETY: as below.
    unsafe { run::<C>(context, values) }
}

/// Calls a function whose arguments and results are in an array. Inlined into both entry points.
#[inline(always)]
unsafe fn run<C: HostCode>(context: *const HostContext, values: *mut RawVal) -> Outcome {
    // SAFETY: the trampoline passes the context of this function, and values of its type. Nothing
    // else uses the store while its host function runs. The closure lives as long as the store.
    unsafe {
        let context = &*context;
        let owner = owner::<C::Data>(context);
        let scope = RuntimeStore::from_context(context.store).begin_scope();
        let called = guarded(|| C::call(&*context.data.cast(), context, values, scope));
        let runtime = &mut *(*owner).runtime;
        let outcome = match called {
            Ok(Ok(None)) => Outcome::returned(0),
            Ok(Ok(Some(left))) => return C::left(left),
            Ok(Err(error)) => C::fail(runtime, context, values, error),
            Err(panic) => failure::end(runtime, Ending::Panic(panic)),
        };
        // The results are words by now. Nothing moves before they are read.
        runtime.end_scope(scope);
        outcome
    }
}

/// Calls a function whose arguments and result are in registers.
unsafe extern "C" fn entry_in_registers<C: HostCode>(
    context: *const HostContext,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    w: f64,
    x: f64,
    y: f64,
    z: f64,
) -> Outcome {
    let registers = Registers { integers: [a, b, c, d], floats: [w, x, y, z] };
    // SAFETY: the stub passes the context of this function, whose type takes and returns few
    // enough words.
    unsafe {
        let closure = &*(*context).data.cast::<ClosureOf<C>>();
        let (count, floats) = C::Signature::words(&closure.signature);
        registers.with_array(count, floats, |values| run::<C>(context, values))
    }
}

/// The store of a function that was called, with data of type `T`.
///
/// # Safety
///
/// The context must belong to a store with such data, which WebAssembly was entered with.
#[inline(always)]
pub(crate) unsafe fn owner<T>(context: &HostContext) -> *mut StoreInner<T> {
    // SAFETY: the caller's promise.
    unsafe { RuntimeStore::from_context(context.store).owner().cast() }
}

/// The registers that pass a few words to a host function.
struct Registers {
    integers: [u64; WORDS],
    floats: [f64; WORDS],
}

impl Registers {
    /// Calls a function with an array: it holds `count` arguments, and then the result. Bit `i`
    /// of `floats` says that parameter `i` is a float.
    #[inline(always)]
    fn with_array(
        self,
        count: usize,
        floats: u64,
        call: impl FnOnce(*mut RawVal) -> Outcome,
    ) -> Outcome {
        let (mut integer, mut float) = (0, 0);
        let mut values = [const { MaybeUninit::uninit() }; WORDS];
        // The first place is needed even if there is only a result.
        for (i, value) in values.iter_mut().enumerate().take(count.max(1)) {
            value.write(RawVal::from_u64(match floats >> i & 1 {
                0 => next(&self.integers, &mut integer),
                _ => next(&self.floats, &mut float).to_bits(),
            }));
        }
        match call(values.as_mut_ptr().cast()) {
            Outcome { ended: CONTINUE, .. } => {
                // SAFETY: it was written above.
                Outcome::returned(unsafe { values[0].assume_init_ref() }.u64())
            }
            outcome => outcome,
        }
    }
}

#[inline(always)]
fn next<V: Copy>(values: &[V], taken: &mut usize) -> V {
    *taken += 1;
    values[*taken - 1]
}

/// The code of a sync function: its results are ready when it returns.
pub(crate) struct Direct<T, S, F>(PhantomData<(T, S, F)>);

impl<T, S, F> HostCode for Direct<T, S, F>
where
    S: Signature,
    F: for<'a> Fn(Caller<'a, T>, S::Params) -> Result<S::Values> + Send + Sync + 'static,
{
    type Data = T;
    type Signature = S;
    type Func = F;
    type Left = Infallible;

    #[inline(always)]
    unsafe fn call(
        closure: &'static ClosureOf<Self>,
        context: &HostContext,
        values: *mut RawVal,
        _: usize,
    ) -> Result<Option<Infallible>> {
        let Closure { signature, func } = closure;
        // SAFETY: the caller's promise.
        unsafe {
            let owner = owner::<T>(context);
            let params = S::take(signature, &mut (*owner).runtime, context, values);
            let results = func(Caller::new(owner, context), params)?;
            S::put(signature, results, context, &(*owner).runtime, values)?;
        }
        Ok(None)
    }

    fn left(left: Infallible) -> Outcome {
        match left {}
    }

    #[cold]
    unsafe fn fail(
        runtime: &mut RuntimeStore,
        context: &HostContext,
        values: *const RawVal,
        error: Error,
    ) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { leave_or_fail(runtime, context, values, error) }
    }
}
