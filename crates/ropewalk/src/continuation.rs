//! Continuations that the host has.

use crate::call::public_error;
use crate::engine::check_stack_size;
use crate::exception::Exception;
use crate::func::Func;
use crate::held::{Held, Taken};
use crate::misuse::WrongType;
use crate::reference::{ContRef, Handle, check_fits};
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::tag::{Tag, TypedTag};
use crate::transfer;
use crate::typed::{TypedFunc, WasmParams, WasmResults, fit};
use crate::val::Val;
use crate::waiting::WaitingCall;
use anyhow::{Error, Result, anyhow};
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, EVERY_TAG, StackKind, handler_word};
use ropewalk_abi::{CompositeType, FuncType, HeapType, RefType, TrapCode, ValType};
use ropewalk_runtime::held::{self, CameBack};
use ropewalk_runtime::{Backtrace, NOBODY, Stop, Store as RuntimeStore, Trap, TypeRegistry};
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;

/// A continuation that the host has: a computation of WebAssembly on stacks of its
/// own, which has not begun or is suspended.
///
/// Nobody else can resume it, and resuming it takes it. It may suspend with a tag,
/// which gives the host the tag's values and the rest of the computation:
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
/// The collector does not take it: it lasts until it is resumed or dropped. Dropping
/// it frees its stacks. The store is not at hand then, so it does that when it next
/// needs a stack, collects, or is used with a continuation; until then they count as
/// free already ([`Store::stack_statistics`](crate::Store::stack_statistics)).
/// [`free`](Continuation::free) does it at once.
///
/// It can be sent to another thread, as its store can.
pub struct Continuation {
    held: Held,
    ty: std::result::Result<ContType, Unusable>,
}

/// What a continuation is called in errors.
const NAME: &str = "continuation";

/// What came of resuming a continuation.
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
        /// The rest of it. It is resumed with the results of the tag.
        continuation: Continuation,
    },
}

/// What came of resuming a continuation for one tag.
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
        /// The rest of it.
        continuation: TypedContinuation<Answer, R>,
    },
}

/// What the host handles while a continuation runs that it has resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clause {
    /// `(on $tag $label)`: a suspension with the tag comes back to the host.
    On(Tag),
    /// A suspension with any tag comes back to the host, unless another clause is for it.
    OnAny,
    /// `(on $tag switch)`: a `switch` with the tag goes to another continuation, which takes
    /// the place of the one that was resumed. The tag has no parameters, and its results are
    /// those of the continuation.
    OnSwitch(Tag),
}

impl Clause {
    fn word(self, runtime: &RuntimeStore, ty: ContType) -> Result<u64> {
        let word = |tag: Tag, kind| Ok(handler_word(tag.in_store(runtime)?.addr().get(), kind));
        match self {
            Clause::On(tag) => word(tag, ClauseKind::Suspend),
            Clause::OnAny => Ok(EVERY_TAG),
            Clause::OnSwitch(tag) => {
                // Whoever takes the place returns what the tag says, and whoever continues
                // the one that was resumed relies on the same.
                let found = tag.ty_in(runtime)?;
                let results = ty.results.types(runtime.types());
                let fits = found.ty.params().is_empty() && *found.ty.results() == *results;
                if !fits {
                    let expected = FuncType::new([], results);
                    return Err(WrongType::new("tag", expected, found.ty).into());
                }
                word(tag, ClauseKind::Switch)
            }
        }
    }
}

/// Why a continuation or a stack cannot be continued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    /// It came from where its type is not known.
    UnknownType,
    /// There was none.
    Invalid(TrapCode),
}

impl Unusable {
    pub fn error(self) -> Error {
        match self {
            Unusable::UnknownType => unknown_type(ValType::Ref(RefType::CONTREF)),
            Unusable::Invalid(code) => Trap::from_code(code).into(),
        }
    }
}

/// What a continuation takes, and what it returns in the end: the parameters or
/// results of function types of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContType {
    pub params: Side,
    pub results: Side,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Params(u32),
    Results(u32),
}

impl Side {
    pub fn types(self, types: &TypeRegistry) -> Box<[ValType]> {
        match self {
            Side::Params(number) => types.func_type(number).params().into(),
            Side::Results(number) => types.func_type(number).results().into(),
        }
    }
}

impl ContType {
    fn of_function(number: u32) -> ContType {
        ContType { params: Side::Params(number), results: Side::Results(number) }
    }

    /// The type of the continuations of a reference type, if it says that.
    pub fn of_reference(types: &TypeRegistry, ty: ValType) -> Option<ContType> {
        let ValType::Ref(reference) = ty else { return None };
        let HeapType::Concrete(number) = reference.heap else { return None };
        match types.get(number).ty().composite {
            CompositeType::Cont(HeapType::Concrete(function)) => {
                Some(ContType::of_function(function))
            }
            _ => None,
        }
    }

    /// The same, of a heap type; an error if that does not say it.
    pub fn known(types: &TypeRegistry, heap: HeapType) -> Result<ContType> {
        let ty = ValType::Ref(RefType { nullable: false, heap });
        ContType::of_reference(types, ty).ok_or_else(|| unknown_type(ty))
    }

    /// The type of the rest after a suspension with a tag.
    fn after(self, tag: u32) -> ContType {
        ContType { params: Side::Results(tag), results: self.results }
    }

    pub fn func_type(self, types: &TypeRegistry) -> FuncType {
        FuncType::new(self.params.types(types), self.results.types(types))
    }
}

impl Continuation {
    /// A continuation that calls a function, which may be one of the host, when it is
    /// first resumed.
    pub fn new(mut store: impl AsContextMut, func: Func) -> Result<Continuation> {
        let store = store.as_context_mut();
        let number = func.type_id(&store.0.runtime)?;
        store.engine().prepare_continuations(number)?;
        let func_ref = func.in_store(&store.0.runtime)?;
        // SAFETY: the function belongs to the store, and its type is prepared.
        let reference = unsafe { store.0.runtime.new_held(func_ref) }?;
        let ty = Ok(ContType::of_function(number));
        Ok(Continuation::held(&store.0.runtime, reference, ty))
    }

    fn held(
        runtime: &RuntimeStore,
        reference: u64,
        ty: std::result::Result<ContType, Unusable>,
    ) -> Continuation {
        Continuation { held: Held::new(runtime, reference), ty }
    }

    /// The continuation that a word of the store names, which the host takes. If
    /// nothing valid is there, using it is an error.
    pub(crate) fn from_word(runtime: &mut RuntimeStore, word: u64, ty: ValType) -> Continuation {
        let ty = ContType::of_reference(runtime.types(), ty).ok_or(Unusable::UnknownType);
        match runtime.take_held(word, StackKind::Continuation) {
            Ok(reference) => Continuation::held(runtime, reference, ty),
            Err(code) => Continuation::held(runtime, 0, Err(Unusable::Invalid(code))),
        }
    }

    /// The word of this continuation, which the host gives away where one of a type is
    /// expected.
    pub(crate) fn into_word_of(self, runtime: &RuntimeStore, expected: RefType) -> Result<u64> {
        let found = self.func_type(runtime)?;
        let heap = HeapType::Concrete(runtime.types().register_cont(&found));
        check_fits(runtime, self.held.reference(), heap, expected)?;
        self.into_word(runtime)
    }

    /// The word of this continuation, which the host gives away.
    pub(crate) fn into_word(self, runtime: &RuntimeStore) -> Result<u64> {
        self.held.check(runtime, NAME)?;
        if let Err(unusable @ Unusable::Invalid(_)) = self.ty {
            return Err(unusable.error());
        }
        Ok(self.held.into_word(runtime))
    }

    /// Takes the continuation that a reference of WebAssembly names: the references to
    /// it that WebAssembly has are used up.
    ///
    /// The type of the reference must say what the continuation takes and returns:
    /// `(ref $k)` does, and `contref` does not.
    pub fn from_ref(mut store: impl AsContextMut, reference: ContRef) -> Result<Continuation> {
        let store = store.as_context_mut();
        let runtime = &mut *store.0.runtime;
        let ty = reference.ty();
        let known = ContType::of_reference(runtime.types(), ty);
        let known = known.ok_or_else(|| unknown_type(ty))?;
        let word = reference.handle.word(runtime, HeapType::Cont)?;
        runtime.make_room_for_block(word)?;
        let reference =
            runtime.take_held(word, StackKind::Continuation).map_err(Trap::from_code)?;
        Ok(Continuation::held(runtime, reference, Ok(known)))
    }

    /// Gives it to WebAssembly, as a reference. From then on the collector frees it
    /// when nothing refers to it.
    pub fn into_ref(self, mut store: impl AsContextMut) -> Result<ContRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let ty = self.func_type(runtime)?;
        let number = runtime.types().register_cont(&ty);
        let word = self.into_word(runtime)?;
        let handle = Handle::new(runtime, word);
        Ok(ContRef { handle, heap: HeapType::Concrete(number) })
    }

    fn func_type(&self, runtime: &RuntimeStore) -> Result<FuncType> {
        self.held.check(runtime, NAME)?;
        Ok(self.known_type()?.func_type(runtime.types()))
    }

    fn known_type(&self) -> Result<ContType> {
        self.ty.map_err(Unusable::error)
    }

    /// What it takes when it is resumed, and what its function returns in the end.
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
        Ok(TypedContinuation { continuation: self, checked, _types: PhantomData })
    }

    /// Resumes it. The host handles every tag with which it suspends and that nothing
    /// inside of it handles.
    ///
    /// An exception that it does not catch, a trap, or an error of a host function is
    /// the error, as for a call. The continuation has ended then; so it has if the
    /// arguments are not of its types.
    pub fn resume(self, mut store: impl AsContextMut, arguments: &[Val]) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = store.0.runtime.every_tag();
        self.resume_for(&mut store, &handlers, arguments)
    }

    /// Resumes it. The host handles these tags; with another one it traps, unless
    /// something inside of it handles that.
    pub fn resume_on(
        self,
        mut store: impl AsContextMut,
        tags: &[Tag],
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        let handlers = handlers(&store.0.runtime, tags, ClauseKind::Suspend)?;
        self.resume_for(&mut store, &handlers, arguments)
    }

    /// Resumes it. The host has these clauses, as a `resume` of WebAssembly has; with
    /// another tag it traps, unless something inside of it handles that.
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
        let runtime = &*store.0.runtime;
        self.held.check(runtime, NAME)?;
        let ty = self.known_type()?;
        let words = clauses.iter().map(|clause| clause.word(runtime, ty));
        let handlers = List::new(&words.collect::<Result<Vec<_>>>()?);
        self.resume_for(&mut store, &handlers, arguments)
    }

    fn resume_for<T>(
        self,
        store: &mut StoreContextMut<'_, T>,
        handlers: &List<impl AsRef<[u64]>>,
        arguments: &[Val],
    ) -> Result<Resumed> {
        let ty = self.put_arguments(store, arguments)?;
        let results = |store: &mut StoreContextMut<'_, T>| results_of(store, ty);
        // SAFETY: the values have the types of the continuation.
        unsafe { self.enter(store, handlers, ty, results) }
    }

    /// Checks what must hold before it is resumed, and puts arguments of its types into
    /// the transfer area; returns its type.
    fn put_arguments<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        arguments: &[Val],
    ) -> Result<ContType> {
        let ty = self.begin(store)?;
        let runtime = &mut *store.0.runtime;
        let params = ty.params.types(runtime.types());
        transfer::put_values(runtime, &params, arguments)?;
        Ok(ty)
    }

    /// Resumes it in a future, which waits for host functions that are not ready. The host
    /// handles every tag, as for [`resume`](Continuation::resume).
    pub async fn resume_async(
        self,
        mut store: impl AsContextMut<Data: Send>,
        arguments: &[Val],
    ) -> Result<Resumed> {
        let mut store = store.as_context_mut();
        // They stay where they are while it waits.
        let handlers = Box::new(store.0.runtime.every_tag());
        let ty = self.put_arguments(&mut store, arguments)?;
        let taken = self.held.taken();
        // SAFETY: this future has the store.
        let mut call = unsafe { WaitingCall::new(store.enter()) };
        let reference = taken.reference;
        let resumed = poll_fn(|context| {
            // SAFETY: the host holds it, and the values have its types; they are put
            // where they are when this is first polled. The clauses are on the heap.
            unsafe {
                call.poll_stack(context, |runtime, poller| {
                    held::resume(runtime, reference, &handlers, poller)
                })
            }
        })
        .await;
        drop(call);
        let back = resumed.map(|()| store.0.runtime.came_back(handlers.clauses()));
        taken.came_back(&mut store, back, ty, |store| results_of(store, ty))
    }

    /// Resumes it by throwing an exception where it is suspended. The host handles
    /// every tag, as for [`resume`](Continuation::resume).
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
        let ty = self.begin(&mut store)?;
        let handlers = store.0.runtime.every_tag();
        let word = exception.owned().word(&store.0.runtime)?;
        let taken = self.held.taken();
        // SAFETY: the host holds it, and the exception is one of the store.
        let stop = unsafe { held::resume_throw(store.enter(), taken.reference, word, &handlers) };
        let back = back(store.as_context_mut(), stop, &handlers);
        taken.came_back(&mut store, back, ty, |store| results_of(store, ty))
    }

    /// Checks what must hold before it is resumed; returns its type.
    #[inline]
    fn begin<T>(&self, store: &mut StoreContextMut<'_, T>) -> Result<ContType> {
        let runtime = &mut *store.0.runtime;
        self.held.check(runtime, NAME)?;
        runtime.free_released();
        runtime.make_room_for_block(self.held.reference())?;
        self.known_type()
    }

    /// Resumes it with values that are in the transfer area.
    ///
    /// # Safety
    ///
    /// They must have its types, and `results` read what it returns.
    #[inline]
    unsafe fn enter<T, R>(
        self,
        store: &mut StoreContextMut<'_, T>,
        handlers: &List<impl AsRef<[u64]>>,
        ty: ContType,
        results: impl FnOnce(&mut StoreContextMut<'_, T>) -> R,
    ) -> Result<Resumed<R>> {
        let taken = self.held.taken();
        // SAFETY: the host holds it; the rest is the caller's promise.
        let stop = unsafe { held::resume(store.enter(), taken.reference, handlers, NOBODY) };
        let back = back(store.as_context_mut(), stop, handlers);
        taken.came_back(store, back, ty, results)
    }

    /// Where it is suspended; nothing if it has not begun.
    pub fn backtrace(&self, store: impl AsContext) -> Result<Backtrace> {
        let runtime = store.as_context().runtime();
        self.held.check(runtime, NAME)?;
        Ok(runtime.held_backtrace(self.held.reference()))
    }

    /// How many bytes of its stacks are in use. The machine's memory is given out in
    /// pages, at least one for each stack.
    pub fn bytes(&self, store: impl AsContext) -> Result<usize> {
        let runtime = store.as_context().runtime();
        self.held.check(runtime, NAME)?;
        Ok(runtime.held_bytes(self.held.reference()))
    }

    /// How many bytes each of its stacks may have, instead of what
    /// [`Config::max_wasm_stack`](crate::Config::max_wasm_stack) says, but not less than
    /// a stack begins with. Holds as long as the host resumes it, until it has returned
    /// or failed, or is [given to WebAssembly](Self::into_ref).
    pub fn set_max_stack(&self, mut store: impl AsContextMut, bytes: usize) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.held.check(runtime, NAME)?;
        check_stack_size(bytes)?;
        runtime.limit_held(self.held.reference(), bytes);
        Ok(())
    }

    /// Frees its stacks at once.
    pub fn free(self, mut store: impl AsContextMut) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        self.held.check(runtime, NAME)?;
        self.held.free(runtime);
        Ok(())
    }
}

impl Taken {
    /// What a continuation came back with, of which `results` reads what it returned.
    #[inline]
    fn came_back<T, R>(
        self,
        store: &mut StoreContextMut<'_, T>,
        back: Result<CameBack>,
        ty: ContType,
        results: impl FnOnce(&mut StoreContextMut<'_, T>) -> R,
    ) -> Result<Resumed<R>> {
        match self.tag(store, back)? {
            None => Ok(Resumed::Returned(results(store))),
            Some((tag, held)) => {
                let runtime = &mut *store.0.runtime;
                let number = tag.type_id(runtime)?;
                let types = runtime.types().func_type(number);
                // SAFETY: it suspended with values of the tag.
                let values = unsafe { transfer::values_of(runtime, types.params()) };
                let continuation = Continuation { held, ty: Ok(ty.after(number)) };
                Ok(Resumed::Suspended { tag, values, continuation })
            }
        }
    }

    /// The tag that it suspended with, and what is left of it.
    #[inline]
    fn tag<T>(
        self,
        store: &StoreContextMut<'_, T>,
        back: Result<CameBack>,
    ) -> Result<Option<(Tag, Held)>> {
        match back {
            Ok(CameBack::Returned) => Ok(None),
            Ok(CameBack::Suspended { tag, reference }) => {
                let tag = Tag::from_def(&store.0.runtime, tag);
                Ok(Some((tag, self.held_again(&store.0.runtime, reference))))
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Continuation").finish_non_exhaustive()
    }
}

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
    /// Whether it must be checked that what it is resumed with has its types.
    checked: bool,
    _types: PhantomData<fn(Params) -> Results>,
}

impl<Params, Results> fmt::Debug for TypedContinuation<Params, Results> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedContinuation").finish_non_exhaustive()
    }
}

impl<Params: WasmParams, Results: WasmResults> TypedContinuation<Params, Results> {
    /// A continuation that calls a function when it is first resumed.
    pub fn new(store: impl AsContextMut, func: &TypedFunc<Params, Results>) -> Result<Self> {
        let continuation = Continuation::new(store, *func.func())?;
        Ok(TypedContinuation { continuation, checked: func.is_checked(), _types: PhantomData })
    }

    /// This continuation without Rust's types.
    pub fn into_continuation(self) -> Continuation {
        self.continuation
    }

    /// This continuation without Rust's types.
    pub fn continuation(&self) -> &Continuation {
        &self.continuation
    }

    /// Resumes it, as [`Continuation::resume`].
    pub fn resume(self, mut store: impl AsContextMut, params: Params) -> Result<Resumed<Results>> {
        let mut store = store.as_context_mut();
        let ty = self.continuation.begin(&mut store)?;
        let handlers = store.0.runtime.every_tag();
        transfer::put(&mut store.0.runtime, params, self.checked.then_some(ty.params))?;
        let results = |store: &mut StoreContextMut<'_, _>| load(store, ty.results);
        // SAFETY: the types were checked when it was made.
        unsafe { self.continuation.enter(&mut store, &handlers, ty, results) }
    }

    /// Resumes it. The host handles one tag; with another one it traps, unless
    /// something inside of it handles that.
    pub fn resume_on<Values: WasmResults, Answer: WasmParams>(
        self,
        mut store: impl AsContextMut,
        tag: &TypedTag<Values, Answer>,
        params: Params,
    ) -> Result<TypedResumed<Results, Values, Answer>> {
        let mut store = store.as_context_mut();
        let ty = self.continuation.begin(&mut store)?;
        let (def, number) = tag.in_store(&store.0.runtime)?;
        let word = handler_word(def.addr().get(), ClauseKind::Suspend);
        let handlers = List::short(word, 0);
        transfer::put(&mut store.0.runtime, params, self.checked.then_some(ty.params))?;
        let taken = self.continuation.held.taken();
        // SAFETY: the host holds it, and the types were checked when it was made.
        let stop = unsafe { held::resume(store.enter(), taken.reference, &handlers, NOBODY) };
        let back = back(store.as_context_mut(), stop, &handlers);
        let Some((_, held)) = taken.tag(&store, back)? else {
            return Ok(TypedResumed::Returned(load(&mut store, ty.results)));
        };
        let values = load(&mut store, Side::Params(number));
        let continuation = Continuation { held, ty: Ok(ty.after(number)) };
        let checked = tag.is_checked();
        let continuation = TypedContinuation { continuation, checked, _types: PhantomData };
        Ok(TypedResumed::Suspended { values, continuation })
    }
}

/// What came back from an activation with these clauses.
#[inline]
fn back<T>(
    store: StoreContextMut<'_, T>,
    stop: Result<(), Stop>,
    handlers: &List<impl AsRef<[u64]>>,
) -> Result<CameBack> {
    match stop {
        Ok(()) => Ok(store.0.runtime.came_back(handlers.clauses())),
        Err(Stop::Failed(error)) => Err(public_error(error)),
        Err(Stop::Waits(_)) => unreachable!("nobody polls it"),
    }
}

/// Takes values out of the transfer area that have the types that were checked.
#[inline]
pub(crate) fn load<T, Results: WasmResults>(
    store: &mut StoreContextMut<'_, T>,
    types: Side,
) -> Results {
    let runtime = &mut *store.0.runtime;
    let values = runtime.transfer_area();
    // SAFETY: they have just come with a switch, of the types that were checked.
    unsafe {
        match Results::NEED_TYPES {
            false => Results::load(runtime, values),
            true => {
                let types = types.types(runtime.types());
                Results::load_of(runtime, values, &types)
            }
        }
    }
}

/// What a continuation of a type has returned.
fn results_of<T>(store: &mut StoreContextMut<'_, T>, ty: ContType) -> Vec<Val> {
    let runtime = &mut *store.0.runtime;
    let types = ty.results.types(runtime.types());
    // SAFETY: it returns values of its types.
    unsafe { transfer::values_of(runtime, &types) }
}

/// The clauses of a host that handles these tags, where they are of a kind.
pub(crate) fn handlers(
    runtime: &RuntimeStore,
    tags: &[Tag],
    kind: ClauseKind,
) -> Result<List<Vec<u64>>> {
    let word = |tag: &Tag| Ok(handler_word(tag.in_store(runtime)?.addr().get(), kind));
    let clauses: Vec<_> = tags.iter().map(word).collect::<Result<_>>()?;
    Ok(List::new(&clauses))
}

pub(crate) fn unknown_type(ty: ValType) -> Error {
    anyhow!(
        "expected a continuation of a type that says what it takes and returns, \
         found one of type {ty}"
    )
}
