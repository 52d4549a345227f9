//! Functions with Rust's types.

use crate::items::call_error::ended;
use crate::items::typed_call::TypedCall;
use crate::store::{AsContextMut, StoreContext, StoreContextMut};
use crate::value::func::Func;
use crate::value::wasm_values::{Places, WasmParams, WasmResults, fit, has_few_words};
use anyhow::Result;
use ropewalk_abi::RawVal;
use ropewalk_runtime::{
    NO_POLLER, Poller, Stop, Store as RuntimeStore, Words, call_by, call_with_words,
};
use std::ffi::c_void;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr;

/// A function with Rust's types, which are checked once.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func (export "divmod") (param i32 i32) (result i32 i32)
///       (i32.div_s (local.get 0) (local.get 1))
///       (i32.rem_s (local.get 0) (local.get 1))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let divmod = instance.get_typed_func::<(i32, i32), (i32, i32)>(&mut store, "divmod")?;
/// assert_eq!(divmod.call(&mut store, (17, 5))?, (3, 2));
/// # Ok::<(), Error>(())
/// ```
pub struct TypedFunc<Params, Results> {
    func: Func,
    /// The entry trampoline, unless it is called with words.
    trampoline: *const c_void,
    /// Whether the types of the arguments must be checked at each call.
    checked: bool,
    _types: PhantomData<fn(Params) -> Results>,
}

// SAFETY: the pointer is to code, which lives as long as the engine.
unsafe impl<Params, Results> Send for TypedFunc<Params, Results> {}
// SAFETY: as above.
unsafe impl<Params, Results> Sync for TypedFunc<Params, Results> {}

impl<Params, Results> Clone for TypedFunc<Params, Results> {
    fn clone(&self) -> Self {
        TypedFunc { _types: PhantomData, ..*self }
    }
}

opaque_debug!(impl<Params, Results> TypedFunc<Params, Results> { func });

impl<Params: WasmParams, Results: WasmResults> TypedFunc<Params, Results> {
    /// Whether it is called with [a few words](ropewalk_abi::signature::in_registers).
    const IN_REGISTERS: bool = has_few_words::<Params, Results>();

    pub(crate) fn new<T>(store: StoreContext<'_, T>, func: Func) -> Result<Self> {
        let type_id = func.type_id(store.runtime())?;
        let types = store.engine().types();
        let found = types.func_type(type_id);
        let checked = fit::<Params, Results>(types, "function", &found)?;
        let trampoline = match Self::IN_REGISTERS {
            true => ptr::null(),
            false => store.engine().entry_trampoline(type_id)?,
        };
        Ok(TypedFunc { func, trampoline, checked, _types: PhantomData })
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.checked
    }

    /// Puts arguments into places.
    ///
    /// # Safety
    ///
    /// There must be room for them.
    #[inline]
    unsafe fn put(
        &self,
        params: Params,
        runtime: &RuntimeStore,
        values: *mut RawVal,
    ) -> Result<()> {
        // SAFETY: the caller's promise. `new` has checked that the types fit, or may fit.
        unsafe {
            if !Params::MAY_BE_CHECKED || !self.checked {
                return params.store(runtime, values);
            }
            let ty = runtime.types().shared_func_type(self.func.type_id(runtime)?);
            params.store_of(runtime, values, ty.params(), "argument")
        }
    }

    /// The function without Rust's types.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls the function.
    #[inline]
    pub fn call(&self, mut store: impl AsContextMut, params: Params) -> Result<Results> {
        let store = store.as_context_mut();
        let mut values = Places::<Params, Results>::EMPTY;
        let values = values.as_mut_ptr();
        // SAFETY: there is room for all arguments and results.
        unsafe {
            let word =
                ended(self.begin(StoreContextMut(&mut *store.0), params, values, NO_POLLER))?;
            Ok(self.results(&mut store.0.runtime, values, word))
        }
    }

    /// Calls it in a future, which waits for pending host calls.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "sleep" (func $sleep (param i32) (result i32)))
    ///       (func (export "run") (result i32)
    ///         (i32.add (call $sleep (i32.const 20)) (call $sleep (i32.const 10)))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "sleep", |_: Caller<'_, ()>, (time,): (i32,)| {
    ///     Box::new(async move {
    ///         tokio::time::sleep(std::time::Duration::from_millis(time as u64)).await;
    ///         time * 2
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate_async(&mut store, &module).await?;
    /// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
    /// assert_eq!(run.call_async(&mut store, ()).await?, 60);
    /// # Ok(()) }
    /// ```
    ///
    /// While it waits, its stacks stay as they are: nothing runs, and no thread is blocked.
    /// Dropping the future cancels the call: its stacks are freed, and the store can be used
    /// again.
    #[inline]
    pub fn call_async<S: AsContextMut<Data: Send>>(
        &self,
        store: S,
        params: Params,
    ) -> impl Future<Output = Result<Results>> + use<'_, S, Params, Results> {
        TypedCall::new(self, store, params)
    }

    /// Begins a call, which may wait if it has a poller. When it has ended, pass the word to
    /// [`results`](Self::results).
    ///
    /// # Safety
    ///
    /// There must be room for all values, in places that do not move as long as the call waits.
    /// The poller must be valid until this returns.
    #[inline(always)]
    pub(crate) unsafe fn begin<T>(
        &self,
        mut store: StoreContextMut<'_, T>,
        params: Params,
        values: *mut RawVal,
        poller: Poller,
    ) -> Result<u64, Stop> {
        let func_ref = self.func.in_store(&store.0.runtime)?;
        // SAFETY: the values have the types that `new` has checked. The caller promises the rest.
        unsafe {
            self.put(params, &store.0.runtime, values)?;
            match Self::IN_REGISTERS {
                true => call_with_words(store.enter(), func_ref, Self::words(values), poller),
                false => call_by(store.enter(), func_ref, self.trampoline, values, poller),
            }
        }
    }

    /// Arguments as words.
    ///
    /// # Safety
    ///
    /// `values` must hold the arguments.
    #[inline(always)]
    unsafe fn words(values: *const RawVal) -> Words {
        let mut words = Words::none(Results::FLOATS != 0);
        let (mut integers, mut floats) = (0, 0);
        for i in 0..Params::COUNT {
            // SAFETY: the caller's promise.
            let word = unsafe { (*values.add(i)).u64() };
            if Params::FLOATS >> i & 1 == 0 {
                words.integers[integers].write(word);
                integers += 1;
            } else {
                words.floats[floats].write(f64::from_bits(word));
                floats += 1;
            }
        }
        words
    }

    /// The results of a call that has returned a word.
    ///
    /// # Safety
    ///
    /// The results must be in the places, unless they are that word.
    #[inline]
    pub(crate) unsafe fn results(
        &self,
        runtime: &mut RuntimeStore,
        values: *mut RawVal,
        word: u64,
    ) -> Results {
        // SAFETY: `new` has checked the types.
        unsafe {
            if Self::IN_REGISTERS {
                values.write(RawVal::from_u64(word));
            }
            if !Results::NEED_TYPES {
                return Results::load(runtime, values);
            }
            let number = self.func.type_id(runtime).expect("it was just called");
            let ty = runtime.types().shared_func_type(number);
            Results::load_of(runtime, values, ty.results())
        }
    }
}
