//! Continuations with Rust's types.

use crate::items::call_error::public_error;
use crate::items::typed_func::TypedFunc;
use crate::stacks::cont_type::{ContType, Side};
use crate::stacks::continuation::{Continuation, Resumed, came_back, resuming};
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::stack_handle::SpentHandle;
use crate::stacks::transfer::{self, load};
use crate::store::{AsContextMut, StoreContextMut};
use crate::value::tag::TypedTag;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::Result;
use ropewalk_abi::clauses::List;
use ropewalk_runtime::host::continuation;
use std::marker::PhantomData;
use std::num::NonZeroU64;

/// A continuation with Rust's types, checked once.
///
/// With a [`TypedTag`] the values of suspensions have types too. A generator, pulled
/// from Rust as an iterator:
///
/// ```
/// use ropewalk::*;
///
/// struct Generator<'a> {
///     store: &'a mut Store<()>,
///     next: TypedTag<i32, ()>,
///     rest: Option<TypedContinuation<(), ()>>,
/// }
///
/// impl Iterator for Generator<'_> {
///     type Item = Result<i32>;
///
///     fn next(&mut self) -> Option<Result<i32>> {
///         let rest = self.rest.take()?;
///         match rest.resume_on(&mut *self.store, &self.next, ()) {
///             Ok(TypedResumed::Returned(())) => None,
///             Ok(TypedResumed::Suspended { values, continuation }) => {
///                 self.rest = Some(continuation);
///                 Some(Ok(values))
///             }
///             Err(error) => Some(Err(error)),
///         }
///     }
/// }
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $next (export "next") (param i32))
///       (func (export "squares") (local $i i32)
///         (loop $more
///           (local.set $i (i32.add (local.get $i) (i32.const 1)))
///           (suspend $next (i32.mul (local.get $i) (local.get $i)))
///           (br_if $more (i32.lt_s (local.get $i) (i32.const 4))))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let next = instance.get_tag(&mut store, "next").unwrap().typed(&store)?;
/// let squares = instance.get_typed_func::<(), ()>(&mut store, "squares")?;
/// let rest = Some(TypedContinuation::new(&mut store, &squares)?);
/// let squares: Result<Vec<i32>> = Generator { store: &mut store, next, rest }.collect();
/// assert_eq!(squares?, [1, 4, 9, 16]);
/// # Ok::<(), Error>(())
/// ```
pub struct TypedContinuation<Params, Results> {
    continuation: Continuation,
    /// Whether the types of the arguments must be checked at each resumption.
    checked: Checked,
    _types: PhantomData<fn(Params) -> Results>,
}

/// Whether each use must be checked. Like the other fields it is a word, so that the compiler
/// moves whole words.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Checked {
    No,
    Yes,
}

opaque_debug!(impl<Params, Results> TypedContinuation<Params, Results>);

impl<Params: WasmParams, Results: WasmResults> TypedContinuation<Params, Results> {
    /// A continuation that calls a function when it is first resumed.
    pub fn new(store: impl AsContextMut, func: &TypedFunc<Params, Results>) -> Result<Self> {
        let continuation = Continuation::new(store, *func.func())?;
        Ok(TypedContinuation::checked(continuation, func.is_checked()))
    }

    /// A continuation that is known to have these types, or whose uses are each checked.
    pub(crate) fn checked(continuation: Continuation, checked: bool) -> Self {
        let checked = if checked { Checked::Yes } else { Checked::No };
        TypedContinuation { continuation, checked, _types: PhantomData }
    }

    #[inline]
    fn is_checked(&self) -> bool {
        self.checked == Checked::Yes
    }

    /// This continuation without Rust's types.
    pub fn into_continuation(self) -> Continuation {
        self.continuation
    }

    /// This continuation without Rust's types.
    pub fn continuation(&self) -> &Continuation {
        &self.continuation
    }

    /// A copy of it, as by [`Continuation::try_clone`].
    pub fn try_clone(&self, store: impl AsContextMut) -> Result<Self> {
        Ok(TypedContinuation::checked(self.continuation.try_clone(store)?, self.is_checked()))
    }

    /// Resumes it, as [`Continuation::resume`].
    pub fn resume(self, mut store: impl AsContextMut, params: Params) -> Result<Resumed<Results>> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, params)?.run(&mut store)
    }

    /// Resumes it in a future, as [`Continuation::resume_async`].
    pub async fn resume_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        params: Params,
    ) -> Result<Resumed<Results>> {
        let mut store = store.as_context_mut();
        self.resumption(&mut store, params)?.run_async(&mut store).await
    }

    /// Checks whether it can be resumed, and puts the parameters into the transfer area.
    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn resumption<T>(
        self,
        store: &mut StoreContextMut<'_, T>,
        params: Params,
    ) -> Result<
        HostSwitch<
            List<[u64; 7]>,
            impl Enter<List<[u64; 7]>> + use<T, Params, Results>,
            impl Finish<List<[u64; 7]>, T, Resumed<Results>> + use<T, Params, Results>,
        >,
    > {
        let handlers = store.0.runtime.every_tag();
        let ty = self.begin(store, params)?;
        let results = |store: &mut StoreContextMut<'_, T>, ty: ContType| load(store, ty.results);
        // SAFETY: the types were checked when it was made.
        Ok(unsafe { self.continuation.switch(handlers, resuming(), came_back(ty, results)) })
    }

    /// Resumes it. The host handles one tag. A suspension with another tag, which the
    /// continuation does not handle itself, traps.
    #[inline(always)]
    pub fn resume_on<Values: WasmResults, Answer: WasmParams>(
        self,
        mut store: impl AsContextMut,
        tag: &TypedTag<Values, Answer>,
        params: Params,
    ) -> Result<TypedResumed<Results, Values, Answer>> {
        // Host code resumes generators by this, step by step, so it is inlined, and the runtime
        // returns what came back in registers.
        let mut store = store.as_context_mut();
        let handlers = tag.handlers(&store.0.runtime)?;
        let ty = self.begin(&mut store, params)?;
        let spent = self.continuation.stack.spend();
        // SAFETY: the host holds it, and the types were checked when it was made.
        let back =
            unsafe { continuation::resume_for_one(store.enter(), spent.reference, handlers) };
        Ok(tag.came_back(&mut store, spent, ty, back.map_err(public_error)?))
    }

    /// Resumes it in a future, which waits for pending host calls. The host handles one tag, as
    /// for [`resume_on`](Self::resume_on).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "load" (func $load (param i32) (result i32)))
    ///       (tag $next (export "next") (param i32))
    ///       (func (export "pages") (local $i i32)
    ///         (loop $more
    ///           (local.set $i (i32.add (local.get $i) (i32.const 1)))
    ///           (suspend $next (call $load (local.get $i)))
    ///           (br_if $more (i32.lt_s (local.get $i) (i32.const 3))))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "load", |_: Caller<'_, ()>, (page,): (i32,)| {
    ///     Box::new(async move {
    ///         tokio::task::yield_now().await;
    ///         page * 100
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let next = instance.get_tag(&mut store, "next").unwrap().typed::<i32, ()>(&store)?;
    /// let pages = instance.get_typed_func::<(), ()>(&mut store, "pages")?;
    ///
    /// let mut rest = TypedContinuation::new(&mut store, &pages)?;
    /// let mut loaded = Vec::new();
    /// while let TypedResumed::Suspended { values, continuation } =
    ///     rest.resume_on_async(&mut store, &next, ()).await?
    /// {
    ///     loaded.push(values);
    ///     rest = continuation;
    /// }
    /// assert_eq!(loaded, [100, 200, 300]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_on_async<Values: WasmResults, Answer: WasmParams>(
        self,
        mut store: impl AsContextMut<Data: Send>,
        tag: &TypedTag<Values, Answer>,
        params: Params,
    ) -> Result<TypedResumed<Results, Values, Answer>> {
        let mut store = store.as_context_mut();
        // Suspended stacks point to them, and the tag may move.
        let handlers = *tag.handlers(&store.0.runtime)?;
        let ty = self.begin(&mut store, params)?;
        let finish = |spent, store: &mut StoreContextMut<'_, _>, _: &List<_>| {
            let back = store.0.runtime.came_back_suspended();
            Ok(tag.came_back(store, spent, ty, back))
        };
        // SAFETY: the types were checked when it was made.
        unsafe { self.continuation.switch(handlers, resuming(), finish) }
            .run_async(&mut store)
            .await
    }

    /// Checks whether it can be resumed, and puts the parameters into the transfer area. Returns
    /// its type.
    #[inline(always)]
    fn begin<T>(&self, store: &mut StoreContextMut<'_, T>, params: Params) -> Result<ContType> {
        let ty = self.continuation.begin(store)?;
        transfer::put(&mut store.0.runtime, params, self.is_checked().then_some(ty.params))?;
        Ok(ty)
    }
}

impl<Values: WasmResults, Answer: WasmParams> TypedTag<Values, Answer> {
    /// What a continuation came back with that was resumed with this tag alone. `back` names the
    /// rest of it, unless its function returned.
    #[inline(always)]
    fn came_back<T, Results: WasmResults>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        spent: SpentHandle,
        ty: ContType,
        back: Option<NonZeroU64>,
    ) -> TypedResumed<Results, Values, Answer> {
        let Some(reference) = back else {
            return TypedResumed::Returned(load(store, ty.results));
        };
        let stack = spent.renew(reference.get());
        let number = self.type_number();
        let values = load(store, Side::params(number));
        let rest = Continuation { stack, ty: ty.after(number).into() };
        TypedResumed::Suspended {
            values,
            continuation: TypedContinuation::checked(rest, self.is_checked()),
        }
    }
}

/// The result of resuming a continuation for one tag.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $ask (export "ask") (param i32) (result i32))
///       (func (export "run") (result i32) (i32.add (suspend $ask (i32.const 3)) (i32.const 1))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let ask = instance.get_tag(&mut store, "ask").unwrap().typed::<i32, i32>(&store)?;
/// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
/// let begun = TypedContinuation::new(&mut store, &run)?.resume_on(&mut store, &ask, ())?;
/// let TypedResumed::Suspended { values, continuation } = begun else { panic!("it suspends") };
/// let ended = continuation.resume_on(&mut store, &ask, values * 10)?;
/// assert!(matches!(ended, TypedResumed::Returned(31)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub enum TypedResumed<R, Values, Answer> {
    /// Its function has returned.
    Returned(R),
    /// It has suspended with the tag.
    Suspended {
        /// The values that it suspended with.
        values: Values,
        /// The suspended continuation.
        continuation: TypedContinuation<Answer, R>,
    },
}
