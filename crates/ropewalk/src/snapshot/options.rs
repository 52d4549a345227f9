//! What snapshots are to have, and what they are based on.

use crate::items::instance::Instance;
use crate::reference::{Owned, Reference};
use crate::snapshot::Snapshot;
use crate::stacks::bag::BagStack;
use crate::stacks::cont_type::ContType;
use crate::stacks::continuation::Continuation;
use crate::stacks::fiber::Fiber;
use crate::stacks::first_class::FirstClassStack;
use crate::stacks::owned::{Held, HeldStack};
use crate::stacks::task::Task;
use crate::value::func::Func;
use anyhow::Result;
use ropewalk_abi::{HeapType, RefType, ValType};
use ropewalk_runtime::StoreId;
use ropewalk_runtime::snapshot::{Bytes, Handle};
use std::any::Any;
use std::sync::Weak;

/// What a snapshot is to have: names of what the host has, and how its values are written.
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
    pub(crate) names: Vec<(String, Name)>,
    pub(crate) base: Since,
    pub(crate) is_base: bool,
    pub(crate) host_value: Option<Box<WriteValue>>,
}

pub(crate) type WriteValue = dyn Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>> + Send + Sync;

/// What a snapshot is based on.
pub(crate) enum Since {
    Nothing,
    Snapshot(Bytes),
    Last,
}

/// What has a name, and in which store.
pub(crate) enum Name {
    Instance(Instance),
    Func(Func),
    /// Something that is of a store, and is called so in errors.
    Of(StoreId, &'static str, Handle),
    /// The same, of what only the host has, as long as it does.
    Held(StoreId, &'static str, Handle, Weak<()>),
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
    /// No names, all of the store, and no values of the host.
    pub fn new() -> SnapshotOptions {
        SnapshotOptions { names: Vec::new(), base: Since::Nothing, is_base: true, host_value: None }
    }

    /// Gives an instance a name, by which [`Restored::instance`] finds it.
    pub fn name_instance(&mut self, name: &str, instance: Instance) -> &mut SnapshotOptions {
        self.names.push((name.to_string(), Name::Instance(instance)));
        self
    }

    /// Gives what the host holds a name, by which [`Restored::continuation`] finds it. The
    /// continuation stays what it is. As soon as it is resumed, freed or given away, nothing has
    /// that name, and no snapshot can be taken with it.
    pub fn name_continuation(
        &mut self,
        name: &str,
        continuation: &Continuation,
    ) -> &mut SnapshotOptions {
        let held = &continuation.held;
        let ty = continuation.ty.get().ok().map(ContType::numbers);
        self.held(name, held, "continuation", Handle::Continuation(held.reference(), ty))
    }

    /// Gives a stack of the bag of stacks that the host holds a name, by which
    /// [`Restored::bag_stack`] finds it.
    pub fn name_bag_stack(&mut self, name: &str, stack: &BagStack) -> &mut SnapshotOptions {
        self.name_held(name, stack.held())
    }

    /// Gives a first-class stack that the host holds a name, by which
    /// [`Restored::first_class_stack`] finds it.
    pub fn name_first_class_stack(
        &mut self,
        name: &str,
        stack: &FirstClassStack,
    ) -> &mut SnapshotOptions {
        self.name_held(name, stack.held())
    }

    fn name_held(&mut self, name: &str, stack: &HeldStack) -> &mut SnapshotOptions {
        let ty = stack.heap().ok().map(reference_to);
        let handle = Handle::Stack(stack.held.reference(), ty);
        self.held(name, &stack.held, "stack", handle)
    }

    fn held(
        &mut self,
        name: &str,
        held: &Held,
        what: &'static str,
        handle: Handle,
    ) -> &mut SnapshotOptions {
        let named = Name::Held(held.store(), what, handle, held.alive());
        self.names.push((name.to_string(), named));
        self
    }

    /// Gives a task a name, by which [`Restored::task`] finds it.
    pub fn name_task(&mut self, name: &str, task: &Task) -> &mut SnapshotOptions {
        self.name_reference(name, task.owned())
    }

    /// Gives a fiber a name, by which [`Restored::fiber`] finds it.
    pub fn name_fiber(&mut self, name: &str, fiber: &Fiber) -> &mut SnapshotOptions {
        self.name_reference(name, fiber.owned())
    }

    /// Gives a reference that the host owns a name, by which [`Restored::reference`] finds it.
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
            // There was no memory to keep it: whoever uses it is told so.
            return self;
        };
        self.of(name, store, "reference", Handle::Reference(root, reference_to(heap)))
    }

    /// Gives a function of an instance a name, by which [`Restored::func`] finds it. Functions of
    /// the host are not found again by a name, but by those of imports.
    pub fn name_func(&mut self, name: &str, func: Func) -> &mut SnapshotOptions {
        self.names.push((name.to_string(), Name::Func(func)));
        self
    }

    fn of(
        &mut self,
        name: &str,
        store: StoreId,
        what: &'static str,
        handle: Handle,
    ) -> &mut SnapshotOptions {
        self.names.push((name.to_string(), Name::Of(store, what, handle)));
        self
    }

    /// Says how values of the host are written. Without this, a store that has some cannot be.
    pub fn write_host_values(
        &mut self,
        write: impl Fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>> + Send + Sync + 'static,
    ) -> &mut SnapshotOptions {
        self.host_value = Some(Box::new(write));
        self
    }

    /// Only what has changed since another snapshot is to be in it. To restore it, the other one
    /// is needed ([`Snapshot::on`]), and that may have been taken since yet another.
    ///
    /// If the other is the last one that was taken of the store, or the one that the last is
    /// based on, it costs what has changed: the kernel knows which pages were written since then
    /// ([`Config::watch_written_pages`](crate::Config::watch_written_pages)), and nothing is
    /// collected before. If it is any other, or if objects were moved by a collection since then,
    /// everything is looked at.
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
        self.base = Since::Snapshot(base.bytes().clone());
        self
    }

    /// Only what has changed since the last snapshot of the store is to be in it, whichever that
    /// was, if it is known what has; and else everything, as [`Snapshot::is_based`] tells. The
    /// last one need not be in memory any more. Pages that were written are in it as they are,
    /// while [`since`](SnapshotOptions::since) can leave out what is the same there.
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
        self.base = Since::Last;
        self
    }

    /// Whether another may be taken since this one. It is so unless this says otherwise; then
    /// nobody notes what is written afterwards.
    pub fn is_base(&mut self, is_base: bool) -> &mut SnapshotOptions {
        self.is_base = is_base;
        self
    }
}

/// The type of references to what is of a heap type.
fn reference_to(heap: HeapType) -> ValType {
    ValType::Ref(RefType { nullable: false, heap })
}
