//! Options of snapshots: names, host values, and the base.

use crate::items::instance::Instance;
use crate::reference::{Owned, Reference};
use crate::snapshot::Snapshot;
use crate::stacks::bag::BagStack;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Continuation;
use crate::stacks::fiber::Fiber;
use crate::stacks::first_class::FirstClassStack;
use crate::stacks::stack_handle::{StackHandle, SwitchHandle};
use crate::stacks::task::Task;
use crate::value::func::Func;
use anyhow::Result;
use ropewalk_abi::{HeapType, RefType, ValType};
use ropewalk_runtime::StoreId;
use ropewalk_runtime::snapshot::{Bytes, Handle};
use std::any::Any;
use std::sync::Weak;

/// Options of a snapshot: names of items, how host values are written, and the base.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::new(Config::new().snapshots(true))?;
/// let module = Module::new(&engine, r#"
///     (module
///       (memory (export "memory") 16)
///       (global $kept (export "kept") (mut externref) (ref.null extern))
///       (func (export "keep") (param externref) (global.set $kept (local.get 0)))
///       (func (export "kept_one") (result externref) (global.get $kept)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let value = ExternRef::new(&mut store, String::from("a value of the host"))?;
/// instance.get_typed_func::<ExternRef, ()>(&mut store, "keep")?.call(&mut store, value)?;
///
/// let mut options = SnapshotOptions::new();
/// options.name_instance("main", instance).write_host_values(|value| {
///     Ok(value.downcast_ref::<String>().context("it is no string")?.clone().into_bytes())
/// });
/// # use anyhow::Context;
/// let first = store.snapshot(&options)?;
/// instance.get_memory(&mut store, "memory").unwrap().write(&mut store, 70_000, b"changed")?;
/// let second = store.snapshot(options.since(&first))?;
/// assert!(second.as_bytes().len() < 20_000);
///
/// let mut restoring = Restoring::new(&engine, [module]);
/// restoring.read_host_values(|bytes| Ok(Box::new(String::from_utf8(bytes.to_vec())?)));
/// let mut restored = second.on(&first)?.restore_by(&restoring, ())?;
/// let instance = restored.instance("main")?;
/// let kept = instance.get_typed_func::<(), Option<ExternRef>>(&mut restored.store, "kept_one")?;
/// let kept = kept.call(&mut restored.store, ())?.unwrap();
/// let kept = kept.data(&restored.store)?.downcast_ref::<String>().unwrap();
/// assert_eq!(kept, "a value of the host");
/// # Ok::<(), Error>(())
/// ```
pub struct SnapshotOptions {
    pub(crate) names: Vec<(String, NamedItem)>,
    pub(crate) base: Base,
    pub(crate) is_base: bool,
    pub(crate) host_value: Option<Box<WriteValue>>,
}

type WriteValue = dyn Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>> + Send + Sync;

pub(crate) enum Base {
    Nothing,
    Snapshot(Bytes),
    Last,
}

pub(crate) enum NamedItem {
    Instance(Instance),
    Func(Func),
    /// An item of a store, with its kind for errors.
    Of(StoreId, &'static str, Handle),
    /// A stack that the host owns as long as the weak reference is valid.
    Stack(StoreId, &'static str, Handle, Weak<()>),
}

impl std::fmt::Debug for SnapshotOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.names.iter().map(|(name, _)| name).collect();
        f.debug_struct("SnapshotOptions").field("names", &names).finish_non_exhaustive()
    }
}

impl Default for SnapshotOptions {
    fn default() -> SnapshotOptions {
        SnapshotOptions::new()
    }
}

impl SnapshotOptions {
    /// A full snapshot, without names and without host values.
    pub fn new() -> SnapshotOptions {
        SnapshotOptions { names: Vec::new(), base: Base::Nothing, is_base: true, host_value: None }
    }

    /// Names an instance. [`Restored::instance`](crate::Restored::instance) finds it.
    pub fn name_instance(&mut self, name: &str, instance: Instance) -> &mut SnapshotOptions {
        self.names.push((name.to_string(), NamedItem::Instance(instance)));
        self
    }

    /// Names a continuation. [`Restored::continuation`](crate::Restored::continuation) finds it.
    /// As soon as the continuation is resumed, freed or given to WebAssembly, snapshots with that
    /// name fail.
    pub fn name_continuation(
        &mut self,
        name: &str,
        continuation: &Continuation,
    ) -> &mut SnapshotOptions {
        let stack = &continuation.stack;
        let ty = continuation.ty.get().ok().map(ContType::numbers);
        self.stack(name, stack, "continuation", Handle::Continuation(stack.reference(), ty))
    }

    /// Names a stack of a bag. [`Restored::bag_stack`](crate::Restored::bag_stack) finds it.
    pub fn name_bag_stack(&mut self, name: &str, stack: &BagStack) -> &mut SnapshotOptions {
        self.switch_stack(name, stack.handle())
    }

    /// Names a first-class stack.
    /// [`Restored::first_class_stack`](crate::Restored::first_class_stack) finds it.
    pub fn name_first_class_stack(
        &mut self,
        name: &str,
        stack: &FirstClassStack,
    ) -> &mut SnapshotOptions {
        self.switch_stack(name, stack.handle())
    }

    fn switch_stack(&mut self, name: &str, handle: &SwitchHandle) -> &mut SnapshotOptions {
        let ty = handle.heap().ok().map(reference_to);
        let item = Handle::Stack(handle.stack.reference(), ty);
        self.stack(name, &handle.stack, "stack", item)
    }

    fn stack(
        &mut self,
        name: &str,
        stack: &StackHandle,
        what: &'static str,
        handle: Handle,
    ) -> &mut SnapshotOptions {
        let item = NamedItem::Stack(stack.store(), what, handle, stack.observe());
        self.names.push((name.to_string(), item));
        self
    }

    /// Names a task. [`Restored::task`](crate::Restored::task) finds it.
    pub fn name_task(&mut self, name: &str, task: &Task) -> &mut SnapshotOptions {
        self.name_reference(name, task.owned())
    }

    /// Names a fiber. [`Restored::fiber`](crate::Restored::fiber) finds it.
    pub fn name_fiber(&mut self, name: &str, fiber: &Fiber) -> &mut SnapshotOptions {
        self.name_reference(name, fiber.owned())
    }

    /// Names a reference that the host owns. [`Restored::reference`](crate::Restored::reference)
    /// finds it.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $pair (struct (field i32) (field i32)))
    ///       (func (export "pair") (result (ref $pair))
    ///         (struct.new $pair (i32.const 3) (i32.const 4))))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let pair = instance.get_typed_func::<(), Owned<StructRef>>(&mut store, "pair")?;
    /// let pair = pair.call(&mut store, ())?;
    /// let snapshot = store.snapshot(SnapshotOptions::new().name_reference("pair", &pair))?;
    ///
    /// let mut restored = snapshot.restore(&Linker::<()>::new(&engine), &[module], ())?;
    /// let pair = restored.reference::<StructRef>("pair")?.get(&mut restored.store)?;
    /// assert_eq!(pair.field(&mut restored.store, 1)?.i32(), Some(4));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn name_reference<R: Reference>(
        &mut self,
        name: &str,
        reference: &Owned<R>,
    ) -> &mut SnapshotOptions {
        let Some((store, root, heap)) = reference.parts() else {
            // There was no memory to keep it. Each use of it fails.
            return self;
        };
        let handle = Handle::Reference(root, reference_to(heap));
        self.names.push((name.to_string(), NamedItem::Of(store, "reference", handle)));
        self
    }

    /// Names a function of an instance. [`Restored::func`](crate::Restored::func) finds it. Host
    /// functions cannot have names here: they are found by the names of imports.
    pub fn name_func(&mut self, name: &str, func: Func) -> &mut SnapshotOptions {
        self.names.push((name.to_string(), NamedItem::Func(func)));
        self
    }

    /// Sets the function that writes host values. Without it, snapshots of a store with host
    /// values fail.
    pub fn write_host_values(
        &mut self,
        write: impl Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>> + Send + Sync + 'static,
    ) -> &mut SnapshotOptions {
        self.host_value = Some(Box::new(write));
        self
    }

    /// Takes a snapshot of only the changes since another one, its base. To restore it, it must be
    /// [merged](Snapshot::on) with the base. The base may itself have only changes since another
    /// snapshot.
    ///
    /// If the base is the last snapshot of the store, or the base of that, the cost depends on the
    /// size of the changes: the kernel knows which pages are dirty
    /// ([`Config::watch_written_pages`](crate::Config::watch_written_pages)), and there is no
    /// collection first. With any other base, or if a collection has moved objects since,
    /// everything is compared.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"(module (memory (export "memory") 1000))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let memory = instance.get_memory(&mut store, "memory").unwrap();
    /// let mut options = SnapshotOptions::new();
    /// options.name_instance("main", instance);
    ///
    /// let first = store.snapshot(&options)?;
    /// memory.write(&mut store, 5_000_000, b"once")?;
    /// let second = store.snapshot(options.since(&first))?;
    /// memory.write(&mut store, 9_000_000, b"twice")?;
    /// let third = store.snapshot(options.since(&second))?;
    /// assert!(second.as_bytes().len() < 1000);
    ///
    /// let whole = third.on(&second.on(&first)?)?;
    /// let mut restored = whole.restore(&Linker::<()>::new(&engine), &[module], ())?;
    /// let memory = restored.instance("main")?.get_memory(&mut restored.store, "memory").unwrap();
    /// let mut bytes = [0; 4];
    /// memory.read(&restored.store, 5_000_000, &mut bytes)?;
    /// assert_eq!(&bytes, b"once");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn since(&mut self, base: &Snapshot) -> &mut SnapshotOptions {
        self.base = Base::Snapshot(base.bytes().clone());
        self
    }

    /// Takes a snapshot of only the changes since the last one of the store, if they are known,
    /// and otherwise a full one ([`Snapshot::is_based`] tells). The last one need not be in memory.
    /// Dirty pages are saved whole, while [`since`](SnapshotOptions::since) can leave out what is
    /// the same there.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"(module (memory (export "memory") 1000))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let memory = instance.get_memory(&mut store, "memory").unwrap();
    /// let mut options = SnapshotOptions::new();
    /// options.since_last();
    /// let mut written = Vec::new();
    /// for at in [0, 1_000_000, 2_000_000] {
    ///     memory.write(&mut store, at, b"changed")?;
    ///     written.push(store.snapshot(&options)?.as_bytes().to_vec());
    /// }
    /// // SAFETY: the bytes come from above.
    /// let read = written.into_iter().map(|bytes| unsafe { Snapshot::from_bytes(bytes) });
    /// let whole = read.reduce(|base, next| next?.on(&base?)).unwrap()?;
    /// assert!(!whole.is_based());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn since_last(&mut self) -> &mut SnapshotOptions {
        self.base = Base::Last;
        self
    }

    /// Whether the snapshot can be the base of another one. True by default. If it is false, dirty
    /// pages are not tracked afterwards.
    pub fn is_base(&mut self, is_base: bool) -> &mut SnapshotOptions {
        self.is_base = is_base;
        self
    }
}

fn reference_to(heap: HeapType) -> ValType {
    ValType::Ref(RefType { nullable: false, heap })
}
