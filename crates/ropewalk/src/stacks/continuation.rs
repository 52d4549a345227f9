//! Continuations that the host owns.

use crate::engine::check_stack_size;
use crate::items::exception::Exception;
use crate::reference::{ContRef, Handle, check_fits};
use crate::stacks::clause::{Clause, handlers};
use crate::stacks::cont_type::{ContType, KnownType, unknown_type};
use crate::stacks::host_switch::{Enter, Finish, HostSwitch};
use crate::stacks::stack_handle::{SpentHandle, StackHandle, Unusable};
use crate::stacks::transfer::{self, results_of};
use crate::stacks::typed_continuation::TypedContinuation;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::func::Func;
use crate::value::tag::Tag;
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults, fit};
use anyhow::Result;
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, StackKind};
use ropewalk_abi::{FuncType, HeapType, RefType, ValType};
use ropewalk_runtime::host::continuation::{self, CameBack};
use ropewalk_runtime::{Backtrace, Poller, Stop, Store as RuntimeStore, Trap};
use std::ptr::NonNull;

/// A continuation that the host owns: a computation of WebAssembly on stacks of its own, which
/// has not begun or is suspended.
///
/// Only the host can resume it, and resuming it takes it. If it suspends with a tag, the host gets
/// the tag's values and the rest of the computation:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $ask (export "ask") (param i32) (result i32))
///       (func (export "run") (param i32) (result i32)
///         (i32.mul (suspend $ask (local.get 0)) (i32.const 10))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let run = instance.get_func(&mut store, "run").unwrap();
///
/// let continuation = Continuation::new(&mut store, run)?;
/// let Resumed::Suspended { tag, values, continuation } =
///     continuation.resume(&mut store, &[Val::I32(3)])?
/// else {
///     panic!("it suspends");
/// };
/// assert_eq!(tag, instance.get_tag(&mut store, "ask").unwrap());
/// assert_eq!(values[0].i32(), Some(3));
///
/// let Resumed::Returned(results) = continuation.resume(&mut store, &[Val::I32(7)])? else {
///     panic!("it returns");
/// };
/// assert_eq!(results[0].i32(), Some(70));
/// # Ok::<(), Error>(())
/// ```
///
/// The collector does not free it: it lasts until it is resumed or dropped. Dropping it frees its
/// stacks. The store does that when it next needs a stack, collects, or is used with a
/// continuation. Until then they already count as free
/// ([`Store::stack_statistics`](crate::Store::stack_statistics)).
/// [`free`](Continuation::free) frees them at once.
///
/// It can be sent to another thread, as its store can.
pub struct Continuation {
    pub(crate) stack: StackHandle,
    pub(crate) ty: KnownType,
}

/// The result of resuming a continuation.
///
/// ```
/// use ropewalk::*;
///
/// /// Resumes a computation until it returns; each suspension is resumed with nothing.
/// fn finish(store: &mut Store<()>, mut rest: Continuation) -> Result<(Vec<Val>, usize)> {
///     let mut suspensions = 0;
///     loop {
///         match rest.resume(&mut *store, &[])? {
///             Resumed::Returned(results) => return Ok((results, suspensions)),
///             Resumed::Suspended { continuation, .. } => rest = continuation,
///         }
///         suspensions += 1;
///     }
/// }
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $yield)
///       (func (export "run") (result i32) (suspend $yield) (suspend $yield) (i32.const 5)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let run = instance.get_func(&mut store, "run").unwrap();
/// let continuation = Continuation::new(&mut store, run)?;
/// let (results, suspensions) = finish(&mut store, continuation)?;
/// assert_eq!((results[0].i32(), suspensions), (Some(5), 2));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub enum Resumed<R = Vec<Val>> {
    /// Its function has returned.
    Returned(R),
    /// It has suspended with a tag that the host handles.
    Suspended {
        /// The tag.
        tag: Tag,
        /// The values that it suspended with.
        values: Vec<Val>,
        /// The suspended continuation. It is resumed with the results of the tag.
        continuation: Continuation,
    },
}

impl Continuation {
    /// A continuation that calls a function when it is first resumed. The function may be a host
    /// function.
    pub fn new(mut store: impl AsContextMut, func: Func) -> Result<Continuation> {
        let store = store.as_context_mut();
        let number = func.type_id(&store.0.runtime)?;
        store.engine().prepare_continuations(number)?;
        let func_ref = func.in_store(&store.0.runtime)?;
        let ty = ContType::of_function(number);
        // If the embedder panics, the continuation is dropped.
        store.0.runtime.with_embedder(|runtime| {
            // SAFETY: the function belongs to the store, and its type is prepared.
            let reference = unsafe { runtime.new_held(func_ref) }?;
            Ok(Continuation::holding(runtime, reference, ty))
        })
    }

    fn holding(runtime: &RuntimeStore, reference: u64, ty: impl Into<KnownType>) -> Continuation {
        Continuation { stack: StackHandle::new(runtime, reference), ty: ty.into() }
    }

    /// Takes the continuation that a word of the store names. If the word is not valid, each use
    /// of the continuation fails.
    pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> Continuation {
        let ty = ContType::of_reference(runtime.types(), ty).ok_or(Unusable::UnknownType);
        match runtime.take_held(word, StackKind::Continuation) {
            Ok(reference) => Continuation::holding(runtime, reference, ty),
            Err(code) => Continuation::holding(runtime, 0, Unusable::Invalid(code)),
        }
    }

    /// The word of this continuation, where a reference of a certain type is expected.
    pub(crate) fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        let found = self.func_type(runtime)?;
        let heap = HeapType::Concrete(runtime.types().register_cont(&found));
        check_fits(runtime, self.stack.reference(), heap, expected)?;
        self.into_word(runtime)
    }

    pub(crate) fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.check_valid(runtime)?;
        Ok(self.stack.into_word(runtime))
    }

    /// Fails unless it belongs to the store, and came from a valid reference.
    fn check_valid(&self, runtime: &RuntimeStore) -> Result<()> {
        self.stack.check(runtime)?;
        match self.ty.get() {
            Err(unusable @ Unusable::Invalid(_)) => Err(unusable.error()),
            _ => Ok(()),
        }
    }

    /// Takes the continuation that a reference names. References that WebAssembly has to it
    /// become invalid.
    ///
    /// The type of the reference must say the parameters and results of the continuation:
    /// `(ref $k)` does, and `contref` does not.
    pub fn from_ref(mut store: impl AsContextMut, reference: ContRef) -> Result<Continuation> {
        let store = store.as_context_mut();
        let runtime = &mut *store.0.runtime;
        let word = reference.handle.word(runtime, HeapType::Cont)?;
        let ty = reference.ty();
        let known = ContType::of_reference(runtime.types(), ty);
        let known = known.ok_or_else(|| unknown_type(ty))?;
        runtime.with_embedder(|runtime| runtime.make_room_for_block(word))?;
        let reference =
            runtime.take_held(word, StackKind::Continuation).map_err(Trap::from_code)?;
        Ok(Continuation::holding(runtime, reference, known))
    }

    /// Gives it to WebAssembly, as a reference. From then on the collector frees it when nothing
    /// refers to it.
    pub fn into_ref(self, mut store: impl AsContextMut) -> Result<ContRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let ty = self.func_type(runtime)?;
        let number = runtime.types().register_cont(&ty);
        let word = self.into_word(runtime)?;
        let handle = Handle::new(runtime, word);
        Ok(ContRef { handle, heap: HeapType::Concrete(number) })
    }

    fn func_type(&self, runtime: &RuntimeStore) -> Result<FuncType> {
        self.stack.check(runtime)?;
        Ok(self.known_type()?.func_type(runtime.types()))
    }

    #[inline]
    fn known_type(&self) -> Result<ContType> {
        self.ty.get().map_err(Unusable::error)
    }

    /// The types of the values that it is resumed with, and that its function returns.
    pub fn ty(&self, store: impl AsContext) -> Result<FuncType> {
        self.func_type(store.as_context().runtime())
    }

    /// This continuation, to be resumed with Rust's types.
    pub fn typed<Params: WasmParams, Results: WasmResults>(
        self,
        store: impl AsContext,
    ) -> Result<TypedContinuation<Params, Results>> {
        let runtime = store.as_context().runtime();
        let found = self.func_type(runtime)?;
        let checked = fit::<Params, Results>(runtime.types(), "continuation", &found)?;
        Ok(TypedContinuation::checked(self, checked))
    }

    /// Resumes it. The host handles every tag that it suspends with and does not handle itself.
    ///
    /// An exception that it does not catch, a trap, or an error of a host function is the error,
    /// as for a call. On any error the continuation is gone, also if the arguments have wrong
    /// types.
    pub fn resume(self, mut store: impl AsContextMut, arguments: &[Val]) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = store.0.runtime.every_tag();
        self.resumption(&mut store, handlers, arguments)?.run(&mut store)
    }

    /// Resumes it. The host handles these tags. A suspension with another tag, which the
    /// continuation does not handle itself, traps.
    pub fn resume_on(
        self,
        mut store: impl AsContextMut,
        tags: &[Tag],
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = handlers(&store.0.runtime, tags, ClauseKind::Suspend)?;
        self.resumption(&mut store, handlers, arguments)?.run(&mut store)
    }

    /// Resumes it with these clauses, as `resume` does in WebAssembly. A suspension with another
    /// tag, which the continuation does not handle itself, traps.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $f (func (result i32)))
    ///       (type $k (cont $f))
    ///       (type $g (func (param (ref null $k)) (result i32)))
    ///       (type $to (cont $g))
    ///       (tag $swap (export "swap") (result i32))
    ///       (func $second (param (ref null $k)) (result i32) (i32.const 2))
    ///       (elem declare func $second)
    ///       (func (export "first") (result i32)
    ///         (switch $to $swap (cont.new $to (ref.func $second)))
    ///         (i32.const 1)))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let first = instance.get_func(&mut store, "first").unwrap();
    /// let swap = instance.get_tag(&mut store, "swap").unwrap();
    /// let first = Continuation::new(&mut store, first)?;
    /// let Resumed::Returned(results) =
    ///     first.resume_with(&mut store, &[Clause::OnSwitch(swap)], &[])?
    /// else {
    ///     panic!("the second one returns in place of the first");
    /// };
    /// assert_eq!(results[0].i32(), Some(2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn resume_with(
        self,
        mut store: impl AsContextMut,
        clauses: &[Clause],
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = self.clauses(&store.0.runtime, clauses)?;
        self.resumption(&mut store, handlers, arguments)?.run(&mut store)
    }

    fn clauses(&self, runtime: &RuntimeStore, clauses: &[Clause]) -> Result<List<Vec<u64>>> {
        self.stack.check(runtime)?;
        let ty = self.known_type()?;
        let words = clauses.iter().map(|clause| clause.word(runtime, ty));
        Ok(List::new(&words.collect::<Result<Vec<_>>>()?))
    }

    /// Checks whether it can be resumed, and puts the arguments into the transfer area.
    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    #[inline(always)]
    fn resumption<T, W: AsRef<[u64]>>(
        self,
        store: &mut StoreContextMut<'_, T>,
        handlers: List<W>,
        arguments: &[Val],
    ) -> Result<
        HostSwitch<
            List<W>,
            impl Enter<List<W>> + use<T, W>,
            impl Finish<List<W>, T, Resumed> + use<T, W>,
        >,
    > {
        let ty = self.begin(store)?;
        let runtime = &mut *store.0.runtime;
        transfer::put_values(runtime, &ty.params.types(runtime.types()), arguments)?;
        // SAFETY: the values have the types of the continuation.
        Ok(unsafe { self.switch(handlers, resuming(), came_back(ty, results_of)) })
    }

    /// Resumes it in a future, which waits for pending host calls. The host handles every tag, as
    /// for [`resume`](Continuation::resume).
    pub async fn resume_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = store.0.runtime.every_tag();
        self.resumption(&mut store, handlers, arguments)?.run_async(&mut store).await
    }

    /// Resumes it in a future, which waits for pending host calls. The host handles these tags, as
    /// for [`resume_on`](Continuation::resume_on).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "load" (func $load (result i32)))
    ///       (tag $ask (export "ask") (param i32) (result i32))
    ///       (func (export "run") (result i32)
    ///         (i32.mul (suspend $ask (call $load)) (call $load))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "load", |_: Caller<'_, ()>, (): ()| {
    ///     Box::new(async {
    ///         tokio::task::yield_now().await;
    ///         10
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let ask = instance.get_tag(&mut store, "ask").unwrap();
    /// let run = instance.get_func(&mut store, "run").unwrap();
    ///
    /// let begun = Continuation::new(&mut store, run)?;
    /// let resumed = begun.resume_on_async(&mut store, &[ask], &[]).await?;
    /// let Resumed::Suspended { values, continuation, .. } = resumed else {
    ///     panic!("it suspends");
    /// };
    /// assert_eq!(values[0].i32(), Some(10));
    /// let ended = continuation.resume_on_async(&mut store, &[ask], &[Val::I32(7)]).await?;
    /// assert!(matches!(ended, Resumed::Returned(results) if results[0].i32() == Some(70)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_on_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        tags: &[Tag],
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = handlers(&store.0.runtime, tags, ClauseKind::Suspend)?;
        self.resumption(&mut store, handlers, arguments)?.run_async(&mut store).await
    }

    /// Resumes it in a future, which waits for pending host calls. The host has these clauses, as
    /// for [`resume_with`](Continuation::resume_with).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "load" (func $load))
    ///       (tag $stop (export "stop"))
    ///       (func (export "run") (call $load) (suspend $stop)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "load", |_: Caller<'_, ()>, (): ()| {
    ///     Box::new(tokio::task::yield_now())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let stop = instance.get_tag(&mut store, "stop").unwrap();
    /// let run = instance.get_func(&mut store, "run").unwrap();
    /// for (clauses, handled) in [(&[Clause::On(stop)][..], true), (&[Clause::OnAny], true), (&[], false)] {
    ///     let begun = Continuation::new(&mut store, run)?;
    ///     let resumed = begun.resume_with_async(&mut store, clauses, &[]).await;
    ///     assert_eq!(resumed.is_ok(), handled);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_with_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        clauses: &[Clause],
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = self.clauses(&store.0.runtime, clauses)?;
        self.resumption(&mut store, handlers, arguments)?.run_async(&mut store).await
    }

    /// Resumes it by throwing an exception where it is suspended. The host handles every tag, as
    /// for [`resume`](Continuation::resume).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (tag $yield) (tag $cancel (export "cancel") (param i32))
    ///       (func (export "run") (result i32)
    ///         (block $cancelled (result i32)
    ///           (try_table (catch $cancel $cancelled) (suspend $yield))
    ///           (i32.const 0))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_func(&mut store, "run").unwrap();
    /// let cancel = instance.get_tag(&mut store, "cancel").unwrap();
    ///
    /// let continuation = Continuation::new(&mut store, run)?;
    /// let Resumed::Suspended { continuation, .. } = continuation.resume(&mut store, &[])? else {
    ///     panic!("it suspends");
    /// };
    /// let exception = Exception::new(&mut store, cancel, &[Val::I32(5)])?;
    /// let Resumed::Returned(results) = continuation.resume_throw(&mut store, &exception)? else {
    ///     panic!("it returns");
    /// };
    /// assert_eq!(results[0].i32(), Some(5));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn resume_throw(
        self,
        mut store: impl AsContextMut,
        exception: &Exception,
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        self.throw(&mut store, exception)?.run(&mut store)
    }

    /// Checks whether it can be resumed by throwing an exception.
    #[allow(clippy::type_complexity, reason = "the closures have no names")]
    fn throw<T>(
        self,
        store: &mut StoreContextMut<'_, T>,
        exception: &Exception,
    ) -> Result<
        HostSwitch<
            List<[u64; 7]>,
            impl Enter<List<[u64; 7]>> + use<T>,
            impl Finish<List<[u64; 7]>, T, Resumed> + use<T>,
        >,
    > {
        let ty = self.begin(store)?;
        let runtime = &*store.0.runtime;
        let word = exception.owned().word(runtime)?;
        // SAFETY: the exception belongs to the store.
        Ok(unsafe { self.switch(runtime.every_tag(), throwing(word), came_back(ty, results_of)) })
    }

    /// Resumes it by throwing an exception, in a future, which waits for pending host calls. The
    /// host handles every tag, as for [`resume_throw`](Continuation::resume_throw).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// // It is cancelled, and has to tell someone before it ends.
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "log" (func $log (param i32) (result i32)))
    ///       (tag $yield) (tag $cancel (export "cancel") (param i32))
    ///       (func (export "run") (result i32)
    ///         (block $cancelled (result i32)
    ///           (try_table (catch $cancel $cancelled) (suspend $yield))
    ///           (return (i32.const 0)))
    ///         (call $log)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "log", |_: Caller<'_, ()>, (why,): (i32,)| {
    ///     Box::new(async move {
    ///         tokio::task::yield_now().await;
    ///         -why
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_func(&mut store, "run").unwrap();
    /// let cancel = instance.get_tag(&mut store, "cancel").unwrap();
    ///
    /// let begun = Continuation::new(&mut store, run)?;
    /// let Resumed::Suspended { continuation, .. } = begun.resume_async(&mut store, &[]).await?
    /// else {
    ///     panic!("it suspends");
    /// };
    /// let exception = Exception::new(&mut store, cancel, &[Val::I32(5)])?;
    /// let ended = continuation.resume_throw_async(&mut store, &exception).await?;
    /// assert!(matches!(ended, Resumed::Returned(results) if results[0].i32() == Some(-5)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resume_throw_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        exception: &Exception,
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        self.throw(&mut store, exception)?.run_async(&mut store).await
    }

    /// Checks whether it can be resumed. Returns its type.
    #[inline(always)]
    pub(crate) fn begin<T>(&self, store: &mut StoreContextMut<'_, T>) -> Result<ContType> {
        let runtime = &mut *store.0.runtime;
        self.stack.check(runtime)?;
        self.stack.prepare(runtime)?;
        self.known_type()
    }

    /// Resumes it by a function of the runtime. `finish` reads what it came back with.
    ///
    /// # Safety
    ///
    /// The function must be sound to call with a continuation that the host held, and with clauses
    /// that do not move until the switch has ended.
    #[inline(always)]
    pub(super) unsafe fn switch<T, R, W, E, F>(
        self,
        handlers: List<W>,
        resume: E,
        finish: F,
    ) -> HostSwitch<
        List<W>,
        impl Enter<List<W>> + use<T, R, W, E, F>,
        impl Finish<List<W>, T, R> + use<T, R, W, E, F>,
    >
    where
        E: Resume<W>,
        F: FnOnce(SpentHandle, &mut StoreContextMut<'_, T>, &List<W>) -> Result<R>,
    {
        let spent = self.stack.spend();
        let reference = spent.reference;
        let enter =
            move |handlers: &List<W>, runtime, poller| resume(runtime, reference, handlers, poller);
        let finish = move |handlers, store: &mut StoreContextMut<'_, T>, ended: Result<()>| {
            store.0.runtime.end_limit(reference, ended.is_err());
            ended?;
            finish(spent, store, &handlers)
        };
        // SAFETY: the caller's promise.
        unsafe { HostSwitch::new(handlers, enter, finish) }
    }

    /// Where it is suspended. Empty if it has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        self.stack.backtrace(store)
    }

    /// How many bytes of its stacks are in use. Memory is allocated in pages, at least one for
    /// each stack.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        self.stack.bytes(store)
    }

    /// Limits how many bytes each of its stacks may have, in place of
    /// [`Config::max_wasm_stack`](crate::Config::max_wasm_stack). A stack always has its initial
    /// size. The limit holds until the continuation has returned or failed, or is
    /// [given to WebAssembly](Self::into_ref). Whenever it suspends to the host, the limit applies
    /// to the stacks that it has then.
    pub fn set_max_stack(&self, mut store: impl AsContextMut, bytes: usize) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.stack.check(runtime)?;
        check_stack_size(bytes)?;
        runtime.limit_held(self.stack.reference(), bytes)?;
        Ok(())
    }

    /// Copies it, as `cont.clone` does. The copy is equal, and independent of the original. All
    /// its stacks are copied. Objects of the heap are shared.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (tag $choose (export "choose") (result i32))
    ///       (func (export "run") (result i32)
    ///         (i32.add (i32.mul (suspend $choose) (i32.const 10)) (suspend $choose))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_func(&mut store, "run").unwrap();
    ///
    /// // Every choice is made both ways.
    /// let mut waiting = vec![(Continuation::new(&mut store, run)?, None)];
    /// let mut found = Vec::new();
    /// while let Some((rest, choice)) = waiting.pop() {
    ///     let arguments: Vec<Val> = choice.map(Val::I32).into_iter().collect();
    ///     match rest.resume(&mut store, &arguments)? {
    ///         Resumed::Returned(results) => found.push(results[0].i32().unwrap()),
    ///         Resumed::Suspended { continuation, .. } => {
    ///             waiting.push((continuation.try_clone(&mut store)?, Some(2)));
    ///             waiting.push((continuation, Some(1)));
    ///         }
    ///     }
    /// }
    /// assert_eq!(found, [11, 12, 21, 22]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Fails with the trap `stack cannot be copied` if a task or fiber is among its stacks, if a
    /// host function suspended it, or if one of its frames owns a first-class stack. Fails with
    /// `too many stacks` at the limit of stacks. The copy has the same
    /// [stack limit](Continuation::set_max_stack).
    pub fn try_clone(&self, mut store: impl AsContextMut) -> Result<Continuation> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.check_valid(runtime)?;
        Ok(Continuation { stack: self.stack.try_clone(runtime)?, ty: self.ty })
    }

    /// Frees its stacks at once.
    pub fn free(self, store: impl AsContextMut) -> Result<()> {
        self.stack.free(store)
    }
}

/// A function of the runtime that resumes a continuation, which the host held, with clauses.
pub(super) trait Resume<W>:
    FnOnce(NonNull<RuntimeStore>, u64, &List<W>, Poller) -> Result<(), Stop>
{
}

impl<W, F> Resume<W> for F where
    F: FnOnce(NonNull<RuntimeStore>, u64, &List<W>, Poller) -> Result<(), Stop>
{
}

/// Resumes with the values in the transfer area.
#[inline]
pub(super) fn resuming<W: AsRef<[u64]>>() -> impl Resume<W> {
    |store, reference, handlers: &List<W>, poller| {
        // SAFETY: the functions that take this promise that the values have the types of the
        // continuation.
        unsafe { continuation::resume(store, reference, handlers, poller) }
    }
}

/// Resumes by throwing the exception in a word.
fn throwing<W: AsRef<[u64]>>(word: u64) -> impl Resume<W> {
    move |store, reference, handlers: &List<W>, poller| {
        // SAFETY: the functions that take this promise that the exception belongs to the store.
        unsafe { continuation::resume_throw(store, reference, word, handlers, poller) }
    }
}

/// Reads what a continuation came back with that was resumed with clauses. `results` reads what its
/// function returned.
#[inline(always)]
pub(super) fn came_back<T, R, W: AsRef<[u64]>>(
    ty: ContType,
    results: impl FnOnce(&mut StoreContextMut<'_, T>, ContType) -> R,
) -> impl FnOnce(SpentHandle, &mut StoreContextMut<'_, T>, &List<W>) -> Result<Resumed<R>> {
    move |spent, store, handlers| spent.came_back(store, handlers.clauses(), ty, results)
}

impl SpentHandle {
    /// As [`came_back`].
    #[inline]
    pub(crate) fn came_back<T, R>(
        self,
        store: &mut StoreContextMut<'_, T>,
        handlers: &[u64],
        ty: ContType,
        results: impl FnOnce(&mut StoreContextMut<'_, T>, ContType) -> R,
    ) -> Result<Resumed<R>> {
        match store.0.runtime.came_back(handlers) {
            CameBack::Returned => Ok(Resumed::Returned(results(store, ty))),
            CameBack::Suspended { tag, reference } => {
                let runtime = &mut *store.0.runtime;
                let tag = Tag::from_def(runtime, tag);
                let number = tag.type_id(runtime)?;
                let types = runtime.types().shared_func_type(number);
                // SAFETY: it suspended with values of the tag.
                let values = unsafe { transfer::values_of(runtime, types.params()) };
                let stack = self.renew(reference);
                let continuation = Continuation { stack, ty: ty.after(number).into() };
                Ok(Resumed::Suspended { tag, values, continuation })
            }
        }
    }
}

opaque_debug!(impl<> Continuation);
