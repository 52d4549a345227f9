//! Stores that are written down, and read again.

pub(crate) mod options;
pub(crate) mod restored_call;

use crate::engine::Engine;
use crate::host;
use crate::host::caller::Caller;
use crate::host::concurrent::Accessor;
use crate::items::instance::Instance;
use crate::items::linker::Linker;
use crate::misuse::WrongStore;
use crate::module::Module;
use crate::module::precompiled::settings;
use crate::reference::{ContRef, Owned, Reference};
use crate::snapshot::options::{Name, Since, SnapshotOptions};
use crate::snapshot::restored_call::RestoredCall;
use crate::stacks::bag::BagStack;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Continuation;
use crate::stacks::fiber::Fiber;
use crate::stacks::first_class::FirstClassStack;
use crate::stacks::identity::heap_of;
use crate::stacks::owned::{Held, HeldStack, Unusable};
use crate::stacks::task::Task;
use crate::store::{self, AsContextMut, Store, StoreContextMut};
use crate::value::func::Func;
use anyhow::{Context, Result};
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, HostContext};
use ropewalk_runtime::embedder::Foreign;
use ropewalk_runtime::snapshot::{
    self, Base, Bytes, Handle, LoadedTrampoline, Running, Take, Trampolines,
};
use ropewalk_runtime::{
    ImportValue, Interrupts, LoadedModule, OwnedRoot, Store as RuntimeStore, StoreId,
};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a store cannot be written down, or what was written cannot be restored.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let error = store.snapshot(&SnapshotOptions::new()).unwrap_err();
/// assert!(matches!(error.downcast_ref(), Some(SnapshotError::Disabled)));
/// ```
#[doc(inline)]
pub use ropewalk_runtime::snapshot::SnapshotError;

/// A store that was written down: its instances, memories, tables, globals, objects, and every
/// stack of every design, in whatever it was suspended.
///
/// It can be read again in another store, of this process or of another one that has the same
/// modules, compiled by the same version with the same settings. The engine must compile for
/// it ([`Config::snapshots`](crate::Config::snapshots)).
///
/// A generator that outlives its store:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::new(Config::new().snapshots(true))?;
/// let module = Module::new(&engine, r#"
///     (module
///       (tag $yield (export "yield") (param i32))
///       (func (export "count")
///         (local $i i32)
///         (loop $next
///           (local.set $i (i32.add (local.get $i) (i32.const 1)))
///           (suspend $yield (local.get $i))
///           (br $next))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let count = instance.get_func(&mut store, "count").unwrap();
/// let mut rest = Continuation::new(&mut store, count)?;
/// for expected in 1..4 {
///     let Resumed::Suspended { values, continuation, .. } = rest.resume(&mut store, &[])? else {
///         unreachable!()
///     };
///     assert_eq!(values[0].i32(), Some(expected));
///     rest = continuation;
/// }
/// let snapshot = store.snapshot(SnapshotOptions::new().name_continuation("count", &rest))?;
/// let bytes = snapshot.as_bytes().to_vec();
/// drop((rest, store));
///
/// // SAFETY: the bytes come from above.
/// let snapshot = unsafe { Snapshot::from_bytes(bytes)? };
/// let mut restored = snapshot.restore(&Linker::new(&engine), &[module], ())?;
/// let rest = restored.continuation("count")?;
/// let Resumed::Suspended { values, .. } = rest.resume(&mut restored.store, &[])? else {
///     unreachable!()
/// };
/// assert_eq!(values[0].i32(), Some(4));
/// # Ok::<(), Error>(())
/// ```
///
/// # What is in it, and what is not
///
/// Functions of the host are found again by the names under which instances import them, in
/// the linker that is given. Values of the host (`externref`) are written and read by functions
/// that the embedder gives. What the host holds must have a name: continuations, stacks of the bag
/// and first-class stacks ([`SnapshotOptions::name_continuation`] and others); and whatever else
/// it wants to find again can have one: instances, functions, tasks, fibers, references. The
/// data of the store, limits, deadlines and fuel are the embedder's.
///
/// A snapshot can also be taken in a host function ([`Caller::snapshot`]): then the call is
/// restored as one that waits for the results of that function. Frames of the host cannot be
/// written: it is refused where a host function has called WebAssembly that has called this
/// one. Calls that wait for host functions which are futures are all restored as such, wherever
/// the snapshot was taken; [`Accessor::snapshot`](crate::Accessor::snapshot) takes one of many
/// calls at once.
#[derive(Clone, Debug)]
pub struct Snapshot {
    bytes: Bytes,
}

impl Snapshot {
    /// The bytes, for a file or a database.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_bytes()
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A snapshot of bytes that [`as_bytes`](Snapshot::as_bytes) gave.
    ///
    /// Fails if they are damaged, cut off, or of another version.
    ///
    /// # Safety
    ///
    /// What is restored is executed as it is: addresses of code and the types of values are
    /// believed. The bytes must come from a snapshot, by way of nobody who may have changed
    /// them, as those of a [compiled module](Module::deserialize): a checksum finds accidents,
    /// but not intent.
    pub unsafe fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Snapshot> {
        Ok(Snapshot { bytes: Bytes::read(bytes.into())? })
    }

    /// Whether it has only what has changed since another.
    pub fn is_based(&self) -> bool {
        self.bytes.is_based()
    }

    /// The whole snapshot, of one that has only what has changed since another, which is
    /// given. If that has itself only what has changed since yet another, so has the result: many
    /// in a row are put together from the end, and then with the first.
    pub fn on(&self, base: &Snapshot) -> Result<Snapshot> {
        Ok(Snapshot { bytes: self.bytes.on(&base.bytes)? })
    }

    /// Makes a store of it, with data of the host's. Functions of the host are found in the
    /// linker. All modules that the store had must be given, in any order.
    ///
    /// Start functions are not run, and nothing of the linker but functions of the host is
    /// used: what instances import from each other they had, and have again.
    pub fn restore<T: 'static>(
        &self,
        linker: &Linker<T>,
        modules: &[Module],
        data: T,
    ) -> Result<Restored<T>> {
        let mut restoring = Restoring::new(linker.engine(), modules.iter().cloned());
        restoring.functions(linker)?;
        self.restore_by(&restoring, data)
    }

    /// The same, by what was said beforehand.
    pub fn restore_by<T: 'static>(&self, by: &Restoring<T>, data: T) -> Result<Restored<T>> {
        let mut store = Store::new(&by.engine, data);
        let runtime = store.as_context_mut().enter();
        // SAFETY: the store is here, and nothing else uses it.
        let runtime = unsafe { &mut *runtime.as_ptr() };
        let restored = snapshot::restore(runtime, &self.bytes, by, by.is_base)?;
        let calls = restored.calls.into_iter().map(|call| RestoredCall::new(runtime, call));
        let calls = calls.collect();
        let mut names: HashMap<String, Vec<Kept>> = HashMap::new();
        for (name, handle) in restored.names {
            names.entry(name).or_default().push(Kept::new(runtime, handle));
        }
        let restored = store.inner.runtime.id();
        Ok(Restored { store, calls, names, restored })
    }
}

type ReadValue = dyn Fn(&[u8]) -> Result<Box<dyn Any + Send + Sync>> + Send + Sync;

/// What is kept of a store that was restored, under a name.
#[derive(Debug)]
enum Kept {
    Instance(Instance),
    Continuation(Continuation),
    BagStack(BagStack),
    FirstClassStack(FirstClassStack),
    Reference(OwnedRoot, HeapType),
    Func(Func),
}

impl Kept {
    fn new(runtime: &RuntimeStore, handle: Handle) -> Kept {
        match handle {
            Handle::Instance(number) => Kept::Instance(Instance::from_index(runtime, number)),
            Handle::Continuation(reference, types) => {
                let ty = types.map(|[params, results]| ContType::of_sides(params, results));
                let (held, ty) = (Held::new(runtime, reference), ty.ok_or(Unusable::UnknownType));
                Kept::Continuation(Continuation { held, ty: ty.into() })
            }
            Handle::Stack(reference, ty) => {
                let ty = ty.map(heap_of).ok_or(Unusable::UnknownType);
                let stack = HeldStack::again(Held::new(runtime, reference), ty);
                match StackKind::of(reference) {
                    Some(StackKind::FirstClass) => {
                        Kept::FirstClassStack(FirstClassStack::again(stack))
                    }
                    _ => Kept::BagStack(BagStack::again(stack)),
                }
            }
            Handle::Reference(root, ty) => Kept::Reference(root, heap_of(ty)),
            Handle::Func(function) => Kept::Func(Func::from_ref(runtime, function)),
        }
    }
}

/// How stores are restored: with which modules and functions of the host, for many snapshots.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::new(Config::new().snapshots(true))?;
/// let module = Module::new(&engine, r#"(module (global (export "n") (mut i32) (i32.const 0)))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let n = instance.get_global(&mut store, "n").unwrap();
/// n.set(&mut store, Val::I32(7))?;
/// let snapshot = store.snapshot(SnapshotOptions::new().name_instance("main", instance))?;
///
/// let restoring = Restoring::new(&engine, [module]);
/// for _ in 0..3 {
///     let mut restored = snapshot.restore_by(&restoring, ())?;
///     let n = restored.instance("main")?.get_global(&mut restored.store, "n").unwrap();
///     assert_eq!(n.get(&mut restored.store)?.i32(), Some(7));
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Restoring<T> {
    engine: Engine,
    modules: HashMap<[u8; 32], Arc<LoadedModule>>,
    linker: Option<Linker<T>>,
    is_base: bool,
    host_value: Option<Box<ReadValue>>,
}

impl<T> std::fmt::Debug for Restoring<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restoring").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl<T> Restoring<T> {
    /// With modules of an engine. Those of other engines are not used.
    pub fn new(engine: &Engine, modules: impl IntoIterator<Item = Module>) -> Restoring<T> {
        let modules = modules.into_iter().filter(|module| Engine::same(module.engine(), engine));
        let modules = modules.map(|module| (hash(module.loaded()), module.loaded().clone()));
        let (engine, modules) = (engine.clone(), modules.collect());
        Restoring { engine, modules, linker: None, is_base: true, host_value: None }
    }

    /// Says where functions of the host are found. The linker must be of the same engine.
    pub fn functions(&mut self, linker: &Linker<T>) -> Result<&mut Restoring<T>> {
        linker.engine().check("linker", &self.engine, "snapshot")?;
        self.linker = Some(linker.clone());
        Ok(self)
    }

    /// Whether snapshots of the store may be taken since the one that it is restored from. It is so
    /// unless this says otherwise, as for [`SnapshotOptions::is_base`].
    pub fn is_base(&mut self, is_base: bool) -> &mut Restoring<T> {
        self.is_base = is_base;
        self
    }

    /// Says how values of the host are read.
    pub fn read_host_values(
        &mut self,
        read: impl Fn(&[u8]) -> Result<Box<dyn Any + Send + Sync>> + Send + Sync + 'static,
    ) -> &mut Restoring<T> {
        self.host_value = Some(Box::new(read));
        self
    }
}

/// Tells a compiled module from all others: by its code, and what is known of it.
fn hash(module: &LoadedModule) -> [u8; 32] {
    *module.hash.get_or_init(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&postcard::to_allocvec(&module.info).expect("it can be written"));
        hasher.update(module.code.tables().data);
        hasher.update(module.code.bytes());
        *hasher.finalize().as_bytes()
    })
}

/// A store that was restored, and what the host has of it.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::new(Config::new().snapshots(true))?;
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "wait" (func $wait (param i32) (result i32)))
///       (func (export "run") (result i32) (i32.mul (call $wait (i32.const 3)) (i32.const 2))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "wait", |mut caller: Caller<'_, Option<Snapshot>>, _: i32| {
///     let snapshot = caller.snapshot(&SnapshotOptions::new())?;
///     *caller.data_mut() = Some(snapshot);
///     Ok::<i32, Error>(10)
/// })?;
/// let mut store = Store::new(&engine, None);
/// let instance = linker.instantiate(&mut store, &module)?;
/// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
/// assert_eq!(run.call(&mut store, ())?, 20);
///
/// let snapshot = store.into_data().unwrap();
/// let mut restored = snapshot.restore(&linker, &[module], None)?;
/// let call = restored.calls.pop().unwrap();
/// assert_eq!(call.import(), Some(("host", "wait")));
/// let results = call.resume(&mut restored.store, &[Val::I32(50)])?;
/// assert_eq!(results[0].i32(), Some(100));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Restored<T> {
    /// The store.
    pub store: Store<T>,
    /// The calls that wait: those that waited for futures, in no particular order, and last the
    /// one that ran, if something did.
    pub calls: Vec<RestoredCall>,
    names: HashMap<String, Vec<Kept>>,
    /// Which store the names are of: the field can be given another.
    restored: StoreId,
}

impl<T> Restored<T> {
    /// An instance, by its name.
    pub fn instance(&self, name: &str) -> Result<Instance> {
        self.find("instance", name, |kept| match kept {
            Kept::Instance(instance) => Some(*instance),
            _ => None,
        })
    }

    /// A continuation, by its name. It can be taken once.
    pub fn continuation(&mut self, name: &str) -> Result<Continuation> {
        self.take("continuation", name, |kept| match kept {
            Kept::Continuation(continuation) => Ok(continuation),
            other => Err(other),
        })
    }

    /// A stack of the bag of stacks, by its name. It can be taken once.
    pub fn bag_stack(&mut self, name: &str) -> Result<BagStack> {
        self.take("stack of the bag", name, |kept| match kept {
            Kept::BagStack(stack) => Ok(stack),
            other => Err(other),
        })
    }

    /// A first-class stack, by its name. It can be taken once.
    pub fn first_class_stack(&mut self, name: &str) -> Result<FirstClassStack> {
        self.take("first-class stack", name, |kept| match kept {
            Kept::FirstClassStack(stack) => Ok(stack),
            other => Err(other),
        })
    }

    /// A task, by its name.
    pub fn task(&mut self, name: &str) -> Result<Task> {
        let reference = self.reference::<ContRef>(name)?.get(&mut self.store)?;
        Task::from_ref(&mut self.store, reference)
    }

    /// A fiber, by its name.
    pub fn fiber(&mut self, name: &str) -> Result<Fiber> {
        let reference = self.reference::<ContRef>(name)?.get(&mut self.store)?;
        Fiber::from_ref(&mut self.store, reference)
    }

    /// A reference, by its name. Fails if it is of another kind.
    pub fn reference<R: Reference>(&self, name: &str) -> Result<Owned<R>> {
        let runtime = &*self.store.inner.runtime;
        store::check(runtime, self.restored, "reference")?;
        let (root, heap) = self.find("reference", name, |kept| match kept {
            Kept::Reference(root, heap) => Some((root.clone(), *heap)),
            _ => None,
        })?;
        Owned::again(runtime, root, heap)
    }

    /// A function of an instance, by its name.
    pub fn func(&self, name: &str) -> Result<Func> {
        self.find("function", name, |kept| match kept {
            Kept::Func(func) => Some(*func),
            _ => None,
        })
    }

    fn find<R>(
        &self,
        what: &'static str,
        name: &str,
        is: impl Fn(&Kept) -> Option<R>,
    ) -> Result<R> {
        let found = self.names.get(name).and_then(|kept| kept.iter().find_map(is));
        Ok(found.ok_or_else(|| no_such(what, name))?)
    }

    fn take<R>(
        &mut self,
        what: &'static str,
        name: &str,
        is: impl Fn(Kept) -> std::result::Result<R, Kept>,
    ) -> Result<R> {
        let kept = self.names.get_mut(name).map(std::mem::take).unwrap_or_default();
        let (mut found, mut others) = (None, Vec::new());
        for kept in kept {
            match is(kept) {
                Ok(it) if found.is_none() => found = Some(it),
                Ok(_) => {}
                Err(other) => others.push(other),
            }
        }
        if !others.is_empty() {
            self.names.insert(name.to_string(), others);
        }
        Ok(found.ok_or_else(|| no_such(what, name))?)
    }
}

fn no_such(what: &'static str, name: &str) -> SnapshotError {
    SnapshotError::NoSuchName { what, name: name.to_string() }
}

impl<T> Store<T> {
    /// Writes the store down. What the host holds must have a name. [`Snapshot`] has an example.
    ///
    /// What nothing refers to any more is collected before, and not written. The store can be
    /// used as before.
    pub fn snapshot(&mut self, options: &SnapshotOptions) -> Result<Snapshot> {
        take(&mut self.as_context_mut(), options, None)
    }
}

impl<T> Caller<'_, T> {
    /// Writes the store down while this function runs. In the snapshot, the call from the host
    /// that has led here waits for the results of this function
    /// ([`Restored::calls`]); here it goes on.
    ///
    /// A function that is a future can do this before and after it has waited. Other calls that
    /// wait in the store are written too.
    ///
    /// Fails if there is another host function outside of this one that does not wait, or if the
    /// function was not called by way of an import. [`Restored`] has an example.
    pub fn snapshot(&mut self, options: &SnapshotOptions) -> Result<Snapshot> {
        let called = self.called.running(&self.store.0.runtime);
        take_in(&mut self.store, options, called)
    }
}

impl<T: 'static> Store<T> {
    /// Has the store written down whenever somebody asks for it by the handle that is returned,
    /// from any thread: what runs stops at its next check point, and the function is called
    /// with the snapshot, or why there is none. If it fails, what runs ends with its error;
    /// else it goes on.
    ///
    /// In the snapshot, the call that ran is one that waits for nothing
    /// ([`RestoredCall::import`] is none). While nothing runs, the next call is written down when
    /// it begins. A function of the host is not stopped, but what it returns to is. Fails without
    /// [`Config::interruption`](crate::Config::interruption).
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::sync::{Arc, Mutex};
    ///
    /// let engine = Engine::new(Config::new().snapshots(true).interruption(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (func (export "sum") (param $n i32) (result i32) (local $sum i32)
    ///       (loop $next
    ///         (local.set $sum (i32.add (local.get $sum) (local.get $n)))
    ///         (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    ///       (local.get $sum))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let taken = Arc::new(Mutex::new(None));
    /// let place = taken.clone();
    /// let handle = store.on_snapshot_request(SnapshotOptions::new(), move |_, snapshot| {
    ///     *place.lock().unwrap() = Some(snapshot?);
    ///     Ok(())
    /// })?;
    /// handle.request();
    /// let sum = instance.get_typed_func::<i32, i32>(&mut store, "sum")?;
    /// assert_eq!(sum.call(&mut store, 1000)?, 500_500);
    ///
    /// let snapshot = taken.lock().unwrap().take().unwrap();
    /// let mut restored = snapshot.restore(&Linker::<()>::new(&engine), &[module], ())?;
    /// let call = restored.calls.pop().unwrap();
    /// assert_eq!(call.import(), None);
    /// assert_eq!(call.resume(&mut restored.store, &[])?[0].i32(), Some(500_500));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn on_snapshot_request(
        &mut self,
        options: SnapshotOptions,
        mut taken: impl FnMut(StoreContextMut<'_, T>, Result<Snapshot>) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Result<SnapshotHandle> {
        if !self.engine().config().snapshots {
            return Err(SnapshotError::Disabled.into());
        }
        anyhow::ensure!(
            self.engine().config().interruption,
            "the engine does not compile for interruption (Config::interruption)"
        );
        let runtime = &mut self.inner.runtime;
        runtime.set_snapshot_hook(Some(Foreign::new(Box::new(move |runtime, registers| {
            // SAFETY: whoever called WebAssembly has set the owner, which is a store of this
            // very type, and uses it no more than the function that has stopped.
            let mut store = StoreContextMut(unsafe { &mut *runtime.owner().cast() });
            let snapshot = take(&mut store, &options, Some(Running::Paused(registers)));
            taken(store, snapshot)
        }))));
        Ok(SnapshotHandle(runtime.interrupts().clone()))
    }
}

impl<T> Accessor<T> {
    /// Writes the store down with all calls that wait in it. In the snapshot, each waits for the
    /// results of the host function that it waits for here
    /// ([`Restored::calls`](crate::Restored::calls)); here all go on.
    ///
    /// A host function that has been given the accessor can call this too. If it has not waited
    /// yet, and so runs in its call, that call is the last one in the snapshot. Frames of the host
    /// cannot be written: it is refused where another host function runs outside of that, and
    /// where a call waits for a [limiter](crate::Store::limiter_async).
    ///
    /// The store is written as it is now. Calls whose futures were dropped are given up, so it
    /// must be taken while they are there:
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "answer" (func $answer (param i32) (result i32)))
    ///       (func (export "run") (param i32) (result i32)
    ///         (i32.add (local.get 0) (call $answer (i32.mul (local.get 0) (i32.const 10))))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// // Nobody answers here.
    /// linker.func_wrap_concurrent("host", "answer", |_: &Accessor<()>, (_,): (i32,)| {
    ///     Box::pin(std::future::pending::<i32>())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    /// let snapshot = store
    ///     .run_concurrent(async |accessor| {
    ///         let calls = async {
    ///             tokio::join!(run.call_concurrent(accessor, 1), run.call_concurrent(accessor, 2))
    ///         };
    ///         tokio::select! {
    ///             biased;
    ///             _ = calls => unreachable!("nobody answers"),
    ///             snapshot = async { accessor.snapshot(&SnapshotOptions::new()) } => snapshot,
    ///         }
    ///     })
    ///     .await?;
    ///
    /// let mut restored = snapshot.restore(&linker, &[module], ())?;
    /// let calls = std::mem::take(&mut restored.calls);
    /// assert_eq!(calls.len(), 2);
    /// for call in calls {
    ///     assert_eq!(call.import(), Some(("host", "answer")));
    ///     let asked = call.arguments().unwrap()[0].i32().unwrap();
    ///     let results = call.resume(&mut restored.store, &[Val::I32(asked * 10)])?;
    ///     assert_eq!(results[0].i32(), Some(asked / 10 + asked * 10));
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// If it is called inside of [`with`](Accessor::with).
    pub fn snapshot(&self, options: &SnapshotOptions) -> Result<Snapshot> {
        self.use_store(|mut store| {
            let called = self.called.load(Ordering::Relaxed);
            take_in(&mut store, options, called)
        })
    }
}

/// Asks for a snapshot of a store, from any thread. [`Store::on_snapshot_request`] has an
/// example.
#[derive(Clone, Debug)]
pub struct SnapshotHandle(Arc<Interrupts>);

impl SnapshotHandle {
    /// Has what runs in the store, or else what runs there next, written down. Does nothing
    /// if the store is gone.
    pub fn request(&self) {
        self.0.request_snapshot();
    }
}

/// Writes a store down for a host function, which runs in the newest activation and has this
/// context; or the context is null, and the function is one of those for which calls wait.
pub(crate) fn take_in<T>(
    store: &mut StoreContextMut<'_, T>,
    options: &SnapshotOptions,
    called: *const HostContext,
) -> Result<Snapshot> {
    take(store, options, (!called.is_null()).then_some(Running::InHostCall(called)))
}

fn take<T>(
    store: &mut StoreContextMut<'_, T>,
    options: &SnapshotOptions,
    running: Option<Running<'_>>,
) -> Result<Snapshot> {
    let engine = store.engine().clone();
    let runtime = &mut *store.0.runtime;
    let mut names = Vec::new();
    for (name, named) in &options.names {
        let named = match named {
            Name::Instance(instance) => Handle::Instance(instance.in_store(runtime)?),
            Name::Func(func) => Handle::Func(func.in_store(runtime)?),
            Name::Of(store, what, _) | Name::Held(store, what, ..) if *store != runtime.id() => {
                return Err(WrongStore(what).into());
            }
            Name::Held(_, what, _, alive) if alive.strong_count() == 0 => {
                return Err(SnapshotError::Gone { what, name: name.clone() }.into());
            }
            Name::Of(_, _, handle) | Name::Held(_, _, handle, _) => handle.clone(),
        };
        names.push((name.clone(), named));
    }
    let own = engine.own_module();
    let bytes = snapshot::take(
        runtime,
        &Take {
            trampolines: &engine,
            module: &|module| {
                let is_engines = own.as_deref().is_some_and(|own| LoadedModule::same(own, module));
                (hash(module), is_engines)
            },
            settings: engine.settings_bytes().to_vec(),
            names,
            host_value: &|value| match &options.host_value {
                Some(write) => write(value),
                None => anyhow::bail!("nothing says how (SnapshotOptions::write_host_values)"),
            },
            base: match &options.base {
                Since::Nothing => Base::Nothing,
                Since::Snapshot(bytes) => Base::Snapshot(bytes),
                Since::Last => Base::Last,
            },
            watch: options.is_base,
            running,
        },
    )?;
    Ok(Snapshot { bytes })
}

impl Trampolines for Engine {
    fn all(&self) -> Vec<LoadedTrampoline> {
        self.trampolines().all()
    }

    fn address(&self, kind: TrampolineKind, type_id: u32) -> Result<usize> {
        Ok(self.trampoline(kind, type_id)? as usize)
    }
}

impl<T: 'static> snapshot::Host for Restoring<T> {
    fn module(&self, hash: &[u8; 32], is_engines: bool) -> Result<Option<Arc<LoadedModule>>> {
        if is_engines {
            let own = self.engine.stacks_module()?;
            return Ok((self::hash(&own) == *hash).then_some(own));
        }
        Ok(self.modules.get(hash).cloned())
    }

    fn import(
        &self,
        _: &mut RuntimeStore,
        module: &Arc<LoadedModule>,
        number: usize,
    ) -> Result<Option<ImportValue>> {
        let import = &module.info.imports[number];
        let Some(linker) = &self.linker else { return Ok(None) };
        let Some(found) = linker.host_function(module, import)? else { return Ok(None) };
        host::ready(&self.engine, &found)?;
        Ok(Some(ImportValue::Host(found)))
    }

    fn trampolines(&self) -> &dyn Trampolines {
        &self.engine
    }

    fn settings(&self) -> Vec<u8> {
        self.engine.settings_bytes().to_vec()
    }

    fn difference(&self, written: &[u8]) -> SnapshotError {
        let Ok(was) = postcard::from_bytes::<Vec<(String, String)>>(written) else {
            return SnapshotError::Damaged("its settings cannot be read");
        };
        let is = settings(&self.engine);
        let differing = is.iter().zip(&was).find(|(is, was)| is != was);
        match differing {
            Some(((name, is), (_, was))) => {
                let (name, was, is) = (name.clone(), was.clone(), is.clone());
                SnapshotError::Setting { name, was, is }
            }
            None => SnapshotError::Damaged("it has other settings"),
        }
    }

    fn host_value(&self, bytes: &[u8]) -> Result<Box<dyn Any + Send + Sync>> {
        let read = self.host_value.as_ref();
        read.context("nothing says how (Restoring::read_host_values)")?(bytes)
    }
}
