//! Snapshots: stores that are saved and restored.

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
use crate::snapshot::options::{Base, NamedItem, SnapshotOptions};
use crate::snapshot::restored_call::RestoredCall;
use crate::stacks::bag::BagStack;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Continuation;
use crate::stacks::fiber::Fiber;
use crate::stacks::first_class::FirstClassStack;
use crate::stacks::shared_handle::heap_of;
use crate::stacks::stack_handle::{StackHandle, SwitchHandle, Unusable};
use crate::stacks::task::Task;
use crate::store::{self, AsContextMut, Store, StoreContextMut};
use crate::value::func::Func;
use anyhow::{Context, Result};
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{HeapType, HostContext};
use ropewalk_runtime::embedder::Foreign;
use ropewalk_runtime::snapshot::{
    self, Base as BaseBytes, Bytes, Handle, LoadedTrampoline, Running, Take, Trampolines,
};
use ropewalk_runtime::{
    ImportValue, Interrupts, LoadedModule, OwnedRoot, Store as RuntimeStore, StoreId,
};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Why a snapshot cannot be taken or restored.
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

/// A saved store: its instances, memories, tables, globals, objects, and every stack of every
/// design.
///
/// It can be restored in this process, or in another process that has the same modules, compiled
/// by the same version with the same settings. The engine must compile for snapshots
/// ([`Config::snapshots`](crate::Config::snapshots)).
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
/// # Contents
///
/// * Host functions are looked up again in the linker, by the names under which instances import
///   them.
/// * Functions of the embedder write and read host values (`externref`).
/// * Stacks that the host owns must have a name: continuations, stacks of a bag and first-class
///   stacks ([`SnapshotOptions::name_continuation`] and others).
/// * Instances, functions, tasks, fibers and references can have a name, so that the host finds
///   them again.
/// * The data of the store, limits, deadlines and fuel are not in it.
///
/// A host function can take a snapshot too ([`Caller::snapshot`]): then the call is restored as
/// one that waits for the results of that function. Frames of the host cannot be saved. So this
/// fails if another host function is still running, further out on the stack. Pending host calls
/// are all restored as such, wherever the snapshot was taken.
/// [`Accessor::snapshot`](crate::Accessor::snapshot) saves concurrent calls.
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

    /// The snapshot in bytes that [`as_bytes`](Snapshot::as_bytes) returned.
    ///
    /// Fails if they are damaged, cut off, or of another version.
    ///
    /// # Safety
    ///
    /// A restored store trusts the addresses of code and the types of values in the bytes. They
    /// must come from a snapshot, unchanged, as for a
    /// [compiled module](Module::deserialize). The checksum finds accidents, not attacks.
    pub unsafe fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Snapshot> {
        Ok(Snapshot { bytes: Bytes::read(bytes.into())? })
    }

    /// Whether it has only the changes since another snapshot.
    pub fn is_based(&self) -> bool {
        self.bytes.is_based()
    }

    /// Merges the changes in this snapshot with their base. If the base itself has only changes
    /// since another snapshot, so has the result. A chain is merged from its newest end, and with
    /// the full snapshot last.
    pub fn on(&self, base: &Snapshot) -> Result<Snapshot> {
        Ok(Snapshot { bytes: self.bytes.on(&base.bytes)? })
    }

    /// Restores the store, with new data of the host. The linker defines the host functions. All
    /// modules of the store must be given, in any order.
    ///
    /// Start functions do not run. Only the host functions of the linker are used: what instances
    /// import from each other is in the snapshot.
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

    /// Restores the store, with settings for many snapshots.
    pub fn restore_by<T: 'static>(&self, by: &Restoring<T>, data: T) -> Result<Restored<T>> {
        let mut store = Store::new(&by.engine, data);
        let runtime = store.as_context_mut().enter();
        // SAFETY: this function owns the store.
        let runtime = unsafe { &mut *runtime.as_ptr() };
        let restored = snapshot::restore(runtime, &self.bytes, by, by.is_base)?;
        let calls = restored.calls.into_iter().map(|call| RestoredCall::new(runtime, call));
        let calls = calls.collect();
        let mut names = NamedItems::default();
        for (name, handle) in restored.names {
            names.insert(runtime, name, handle);
        }
        let restored = store.inner.runtime.id();
        Ok(Restored { store, calls, names, restored })
    }
}

type ReadValue = dyn Fn(&[u8]) -> Result<Box<dyn Any + Send + Sync>> + Send + Sync;

#[derive(Debug, Default)]
struct NamedItems {
    instances: HashMap<String, Instance>,
    continuations: HashMap<String, Continuation>,
    bag_stacks: HashMap<String, BagStack>,
    first_class_stacks: HashMap<String, FirstClassStack>,
    references: HashMap<String, (OwnedRoot, HeapType)>,
    funcs: HashMap<String, Func>,
}

impl NamedItems {
    /// Adds an item. If two items of a kind have the same name, the first one keeps it.
    fn insert(&mut self, runtime: &RuntimeStore, name: String, handle: Handle) {
        match handle {
            Handle::Instance(number) => {
                self.instances.entry(name).or_insert(Instance::from_index(runtime, number));
            }
            Handle::Continuation(reference, types) => {
                let ty = types.map(|[params, results]| ContType::of_sides(params, results));
                let ty = ty.ok_or(Unusable::UnknownType).into();
                let stack = StackHandle::new(runtime, reference);
                self.continuations.entry(name).or_insert(Continuation { stack, ty });
            }
            Handle::Stack(reference, ty) => {
                let ty = ty.map(heap_of).ok_or(Unusable::UnknownType);
                let handle = SwitchHandle::restored(StackHandle::new(runtime, reference), ty);
                if StackKind::of(reference) == Some(StackKind::FirstClass) {
                    let stack = FirstClassStack::restored(handle);
                    self.first_class_stacks.entry(name).or_insert(stack);
                } else {
                    self.bag_stacks.entry(name).or_insert(BagStack::restored(handle));
                }
            }
            Handle::Reference(root, ty) => {
                self.references.entry(name).or_insert((root, heap_of(ty)));
            }
            Handle::Func(function) => {
                self.funcs.entry(name).or_insert(Func::from_ref(runtime, function));
            }
        }
    }
}

/// The modules and host functions with which snapshots are restored. One is enough for many
/// snapshots.
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

opaque_debug!(impl<T> Restoring<T> { engine });

impl<T> Restoring<T> {
    /// Restores stores with these modules. Modules of other engines are ignored.
    pub fn new(engine: &Engine, modules: impl IntoIterator<Item = Module>) -> Restoring<T> {
        let modules = modules.into_iter().filter(|module| Engine::same(module.engine(), engine));
        let modules = modules.map(|module| (hash(module.loaded()), module.loaded().clone()));
        let (engine, modules) = (engine.clone(), modules.collect());
        Restoring { engine, modules, linker: None, is_base: true, host_value: None }
    }

    /// Sets the linker, which defines the host functions. It must belong to the same engine.
    pub fn functions(&mut self, linker: &Linker<T>) -> Result<&mut Restoring<T>> {
        linker.engine().check("linker", &self.engine, "snapshot")?;
        self.linker = Some(linker.clone());
        Ok(self)
    }

    /// Whether the snapshot can be the base of later snapshots of the restored store. True by
    /// default, as for [`SnapshotOptions::is_base`].
    pub fn is_base(&mut self, is_base: bool) -> &mut Restoring<T> {
        self.is_base = is_base;
        self
    }

    /// Sets the function that reads host values.
    pub fn read_host_values(
        &mut self,
        read: impl Fn(&[u8]) -> Result<Box<dyn Any + Send + Sync>> + Send + Sync + 'static,
    ) -> &mut Restoring<T> {
        self.host_value = Some(Box::new(read));
        self
    }
}

/// Identifies a compiled module, by its code and its description.
fn hash(module: &LoadedModule) -> [u8; 32] {
    *module.hash.get_or_init(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&postcard::to_allocvec(&module.info).expect("it can be written"));
        hasher.update(module.code.tables().data);
        hasher.update(module.code.bytes());
        *hasher.finalize().as_bytes()
    })
}

/// A restored store, with the items that had names.
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
    /// one that was running, if any.
    pub calls: Vec<RestoredCall>,
    names: NamedItems,
    /// The store of the names, since the field `store` can be replaced.
    restored: StoreId,
}

impl<T> Restored<T> {
    /// An instance, by its name.
    pub fn instance(&self, name: &str) -> Result<Instance> {
        found("instance", name, self.names.instances.get(name).copied())
    }

    /// A continuation, by its name. It can be taken once.
    pub fn continuation(&mut self, name: &str) -> Result<Continuation> {
        found("continuation", name, self.names.continuations.remove(name))
    }

    /// A stack of a bag, by its name. It can be taken once.
    pub fn bag_stack(&mut self, name: &str) -> Result<BagStack> {
        found("stack of the bag", name, self.names.bag_stacks.remove(name))
    }

    /// A first-class stack, by its name. It can be taken once.
    pub fn first_class_stack(&mut self, name: &str) -> Result<FirstClassStack> {
        found("first-class stack", name, self.names.first_class_stacks.remove(name))
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

    /// A reference, by its name. Fails if it refers to something of another kind.
    pub fn reference<R: Reference>(&self, name: &str) -> Result<Owned<R>> {
        let runtime = &*self.store.inner.runtime;
        store::check(runtime, self.restored, "reference")?;
        let (root, heap) = found("reference", name, self.names.references.get(name).cloned())?;
        Owned::restored(runtime, root, heap)
    }

    /// A function of an instance, by its name.
    pub fn func(&self, name: &str) -> Result<Func> {
        found("function", name, self.names.funcs.get(name).copied())
    }
}

fn found<R>(what: &'static str, name: &str, found: Option<R>) -> Result<R> {
    Ok(found.ok_or_else(|| SnapshotError::NoSuchName { what, name: name.to_string() })?)
}

impl<T> Store<T> {
    /// Takes a snapshot. The stacks that the host owns must have names. [`Snapshot`] has an
    /// example.
    ///
    /// This collects garbage first. The store can be used as before.
    pub fn snapshot(&mut self, options: &SnapshotOptions) -> Result<Snapshot> {
        take(&mut self.as_context_mut(), options, None)
    }
}

impl<T> Caller<'_, T> {
    /// Takes a snapshot while this function runs. In the snapshot, the current call into
    /// WebAssembly waits for the results of this function ([`Restored::calls`]). In this store it
    /// continues.
    ///
    /// An async function can do this before and after it has waited. Other calls that wait in the
    /// store are saved too.
    ///
    /// Fails if another host function is still running, further out on the stack, or if this
    /// function was not called through an import. [`Restored`] has an example.
    pub fn snapshot(&mut self, options: &SnapshotOptions) -> Result<Snapshot> {
        let called = self.called.running(&self.store.0.runtime);
        take_in(&mut self.store, options, called)
    }
}

impl<T: 'static> Store<T> {
    /// Takes a snapshot whenever any thread requests one by the returned handle. The running call
    /// stops at its next safepoint, and the function gets the snapshot, or the reason why there is
    /// none. If the function fails, the call ends with its error. Otherwise the call continues.
    ///
    /// In the snapshot, that call waits for nothing ([`RestoredCall::import`] is `None`). If no
    /// call is running, the next call is stopped when it begins. A running host function is not
    /// stopped, but its caller is when it returns. Fails without
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
            "snapshots on request need interruption: set `Config::interruption`"
        );
        let runtime = &mut self.inner.runtime;
        runtime.set_snapshot_hook(Some(Foreign::new(Box::new(move |runtime, registers| {
            // SAFETY: the call into WebAssembly has set the owner, a store of this exact type. While
            // the function is stopped, the caller does not use it.
            let mut store = StoreContextMut(unsafe { &mut *runtime.owner().cast() });
            let snapshot = take(&mut store, &options, Some(Running::Paused(registers)));
            taken(store, snapshot)
        }))));
        Ok(SnapshotHandle(runtime.interrupts().clone()))
    }
}

impl<T> Accessor<T> {
    /// Takes a snapshot with all calls that wait. In the snapshot, each waits for the results of
    /// the same host function ([`Restored::calls`](crate::Restored::calls)). In this store all
    /// continue.
    ///
    /// A host function that has the accessor can call this too. If it has not waited yet, its call
    /// is the last one in the snapshot. Fails if another host function is still running, further
    /// out on the stack, or if a call waits for a [limiter](crate::Store::limiter_async).
    ///
    /// Calls whose futures were dropped are cancelled, so the snapshot must be taken while the
    /// futures exist:
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
    /// // Here it never returns.
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
    ///             _ = calls => unreachable!("they wait for ever"),
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

/// Requests snapshots of a store, from any thread. [`Store::on_snapshot_request`] has an
/// example.
#[derive(Clone, Debug)]
pub struct SnapshotHandle(Arc<Interrupts>);

impl SnapshotHandle {
    /// Requests a snapshot of the running call, or otherwise of the next call. Does nothing if the
    /// store was dropped.
    pub fn request(&self) {
        self.0.request_snapshot();
    }
}

/// Takes a snapshot in a host function. If it runs in the newest activation, this is its context.
/// If it has waited, the context is null.
fn take_in<T>(
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
            NamedItem::Instance(instance) => Handle::Instance(instance.in_store(runtime)?),
            NamedItem::Func(func) => Handle::Func(func.in_store(runtime)?),
            NamedItem::Of(store, what, _) | NamedItem::Stack(store, what, ..)
                if *store != runtime.id() =>
            {
                return Err(WrongStore(what).into());
            }
            NamedItem::Stack(_, what, _, token) if token.strong_count() == 0 => {
                return Err(SnapshotError::Gone { what, name: name.clone() }.into());
            }
            NamedItem::Of(_, _, handle) | NamedItem::Stack(_, _, handle, _) => handle.clone(),
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
                None => {
                    anyhow::bail!("no function writes them: use SnapshotOptions::write_host_values")
                }
            },
            base: match &options.base {
                Base::Nothing => BaseBytes::Nothing,
                Base::Snapshot(bytes) => BaseBytes::Snapshot(bytes),
                Base::Last => BaseBytes::Last,
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
        read.context("no function reads them: use Restoring::read_host_values")?(bytes)
    }
}
