//! References to objects.
//!
//! C has many types of objects, which can be cast to `ref` and some to `extern`. Here they are a
//! single type, whose kind is checked when it is used.

use crate::objects::store::StoreRef;
use crate::objects::trap_cause::Thrown;
use crate::support::boundary::{or_default, required};
use crate::support::host_info::{Attached, Finalizer, HostInfo, ObjectId};
use crate::support::owned::{casts, copied};
use anyhow::{Result, bail};
use ropewalk::{
    AnyRef, ContRef, ExnRef, Extern, ExternRef, Func, Global, Instance, Memory, Module, Owned,
    Table, Tag,
};
use std::ffi::c_void;
use std::sync::Arc;

/// A reference to an object.
#[derive(Clone)]
pub struct wasm_ref_t {
    /// None for modules and traps, which belong to no store.
    pub(crate) store: Option<StoreRef>,
    pub(crate) object: Object,
}

/// An object, with its host info unless the store keeps it.
#[derive(Clone)]
pub(crate) enum Object {
    Func(Func),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Tag(Tag),
    Instance(Instance),
    Module(Module, Arc<HostInfo>),
    Trap(Arc<Thrown>),
    /// A foreign C object, as an `externref`.
    Foreign(Owned<ExternRef>, Arc<HostInfo>),
    /// A value of WebAssembly that was converted to an `externref`.
    External(Owned<ExternRef>, Arc<HostInfo>),
    Any(Owned<AnyRef>, Arc<HostInfo>),
    Exception(Owned<ExnRef>, Arc<HostInfo>),
    Continuation(Owned<ContRef>, Arc<HostInfo>),
    Vector(u128, Arc<HostInfo>),
}

impl From<Extern> for Object {
    fn from(item: Extern) -> Object {
        match item {
            Extern::Func(func) => Object::Func(func),
            Extern::Global(global) => Object::Global(global),
            Extern::Table(table) => Object::Table(table),
            Extern::Memory(memory) => Object::Memory(memory),
            Extern::Tag(tag) => Object::Tag(tag),
        }
    }
}

impl Object {
    /// The name of its kind in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Object::Func(_) => "a function",
            Object::Global(_) => "a global",
            Object::Table(_) => "a table",
            Object::Memory(_) => "a memory",
            Object::Tag(_) => "a tag",
            Object::Instance(_) => "an instance",
            Object::Module(..) => "a module",
            Object::Trap(_) => "a trap",
            Object::Foreign(..) => "a foreign object",
            Object::External(..) | Object::Any(..) => "a value of WebAssembly",
            Object::Exception(..) => "an exception",
            Object::Continuation(..) => "a continuation",
            Object::Vector(..) => "a vector",
        }
    }

    pub(crate) fn external(&self) -> Option<Extern> {
        Some(match self {
            Object::Func(func) => Extern::Func(*func),
            Object::Global(global) => Extern::Global(*global),
            Object::Table(table) => Extern::Table(*table),
            Object::Memory(memory) => Extern::Memory(*memory),
            Object::Tag(tag) => Extern::Tag(*tag),
            _ => return None,
        })
    }
}

impl wasm_ref_t {
    pub(crate) fn new(store: &StoreRef, object: impl Into<Object>) -> wasm_ref_t {
        wasm_ref_t { store: Some(store.clone()), object: object.into() }
    }

    pub(crate) fn boxed(
        store: &StoreRef,
        object: impl Into<Object>,
    ) -> Result<Option<Box<wasm_ref_t>>> {
        Ok(Some(Box::new(wasm_ref_t::new(store, object))))
    }

    pub(crate) fn store(&self) -> Result<&StoreRef> {
        required(self.store.as_ref(), "an object of a store")
    }

    /// Whether both refer to the same object.
    fn same(&self, other: &wasm_ref_t) -> Result<bool> {
        if let (Object::Foreign(a, _), Object::Foreign(b, _))
        | (Object::External(a, _), Object::External(b, _)) = (&self.object, &other.object)
        {
            let store = self.store()?;
            return Ok(store.same(other.store()?)
                && store.enter(|mut context| {
                    let (a, b) = (a.get(&mut context)?.to_any(), b.get(&mut context)?.to_any());
                    a.same(&b, context)
                })?);
        }
        if let (Object::Any(a, _), Object::Any(b, _)) = (&self.object, &other.object) {
            let store = self.store()?;
            return Ok(store.same(other.store()?)
                && store.enter(|mut context| {
                    let (a, b) = (a.get(&mut context)?, b.get(&mut context)?);
                    a.same(&b, context)
                })?);
        }
        if let (Object::Module(a, _), Object::Module(b, _)) = (&self.object, &other.object) {
            return Ok(Module::same(a, b));
        }
        // Other references are to the same object if they share their host info.
        let info = |this: &wasm_ref_t| host_info(this.store.as_ref(), &this.object);
        Ok(Arc::ptr_eq(&info(self)?, &info(other)?))
    }
}

/// The host info of an object.
fn host_info(store: Option<&StoreRef>, object: &Object) -> Result<Arc<HostInfo>> {
    let id = match object {
        Object::Func(func) => {
            let store = required(store, "the store of a function")?;
            ObjectId::Func(store.enter(|context| func.id(&context))?)
        }
        Object::Global(global) => ObjectId::Global(*global),
        Object::Table(table) => ObjectId::Table(*table),
        Object::Memory(memory) => ObjectId::Memory(*memory),
        Object::Tag(tag) => ObjectId::Tag(*tag),
        Object::Instance(instance) => ObjectId::Instance(*instance),
        Object::Module(_, info)
        | Object::Foreign(_, info)
        | Object::External(_, info)
        | Object::Any(_, info)
        | Object::Exception(_, info)
        | Object::Continuation(_, info)
        | Object::Vector(_, info) => return Ok(info.clone()),
        Object::Trap(trap) => return Ok(trap.info.clone()),
    };
    Ok(required(store, "the store of an object")?.host_info(id))
}

impl wasm_ref_t {
    pub(crate) fn module(&self) -> Result<&Module> {
        match &self.object {
            Object::Module(module, _) => Ok(module),
            other => bail!("expected a module, found {}", other.name()),
        }
    }

    pub(crate) fn external(&self) -> Result<Extern> {
        match self.object.external() {
            Some(external) => Ok(external),
            None => bail!("expected an external object, found {}", self.object.name()),
        }
    }

    pub(crate) fn trap(thrown: Arc<Thrown>) -> Box<wasm_ref_t> {
        Box::new(wasm_ref_t { store: None, object: Object::Trap(thrown) })
    }

    pub(crate) fn thrown(&self) -> Result<&Arc<Thrown>> {
        match &self.object {
            Object::Trap(thrown) => Ok(thrown),
            other => bail!("expected a trap, found {}", other.name()),
        }
    }
}

/// The store and the object of a reference to a kind of objects.
macro_rules! objects {
    ($($name:ident: $kind:ident -> $ty:ty, $expected:literal;)*) => {
        impl wasm_ref_t {
            $(pub(crate) fn $name(&self) -> Result<(&StoreRef, $ty)> {
                match self.object {
                    Object::$kind(object) => Ok((self.store()?, object)),
                    ref other => bail!(concat!("expected ", $expected, ", found {}"), other.name()),
                }
            })*
        }
    };
}

objects! {
    func: Func -> Func, "a function";
    global: Global -> Global, "a global";
    table: Table -> Table, "a table";
    memory: Memory -> Memory, "a memory";
    tag: Tag -> Tag, "a tag";
    instance: Instance -> Instance, "an instance";
}

fn attached(reference: Option<&wasm_ref_t>) -> *mut c_void {
    let pointer = or_default(|| {
        let reference = required(reference, "an object")?;
        let info = host_info(reference.store.as_ref(), &reference.object)?;
        Ok(Some(info.pointer().expose_provenance()))
    });
    std::ptr::with_exposed_provenance_mut(pointer.unwrap_or(0))
}

fn attach(reference: Option<&wasm_ref_t>, pointer: *mut c_void, finalizer: Finalizer) {
    or_default(|| {
        let reference = required(reference, "an object")?;
        let info = host_info(reference.store.as_ref(), &reference.object)?;
        info.set(Attached::new(pointer, finalizer));
        Ok(())
    });
}

/// Defines the functions of references of a kind, whose names begin with that of the type.
macro_rules! references {
    ($($name:literal;)*) => {$(
        copied! { $name: wasm_ref_t; }

        const _: () = {
            #[unsafe(export_name = concat!($name, "_same"))]
            extern "C" fn same(a: Option<&wasm_ref_t>, b: Option<&wasm_ref_t>) -> bool {
                or_default(|| match (a, b) {
                    (Some(a), Some(b)) => a.same(b),
                    (a, b) => Ok(a.is_none() && b.is_none()),
                })
            }

            #[unsafe(export_name = concat!($name, "_get_host_info"))]
            extern "C" fn get_host_info(reference: Option<&wasm_ref_t>) -> *mut c_void {
                attached(reference)
            }

            #[unsafe(export_name = concat!($name, "_set_host_info"))]
            extern "C" fn set_host_info(reference: Option<&wasm_ref_t>, pointer: *mut c_void) {
                attach(reference, pointer, None);
            }

            #[unsafe(export_name = concat!($name, "_set_host_info_with_finalizer"))]
            extern "C" fn set_host_info_with_finalizer(
                reference: Option<&wasm_ref_t>,
                pointer: *mut c_void,
                finalizer: Finalizer,
            ) {
                attach(reference, pointer, finalizer);
            }
        };
    )*};
}

references! {
    "wasm_ref"; "wasm_trap"; "wasm_foreign"; "wasm_module"; "wasm_func"; "wasm_global";
    "wasm_table"; "wasm_memory"; "wasm_tag"; "wasm_extern"; "wasm_instance";
}

casts! {
    wasm_ref_t, |it| it.object;
    Object::Trap(_) => "trap" as "ref";
    Object::Foreign(..) => "foreign" as "ref";
    Object::Module(..) => "module" as "ref";
    Object::Func(_) => "func" as "ref";
    Object::Global(_) => "global" as "ref";
    Object::Table(_) => "table" as "ref";
    Object::Memory(_) => "memory" as "ref";
    Object::Tag(_) => "tag" as "ref";
    Object::Instance(_) => "instance" as "ref";
    Object::Func(_) | Object::Global(_) | Object::Table(_) | Object::Memory(_)
        | Object::Tag(_) => "extern" as "ref";
    Object::Func(_) => "func" as "extern";
    Object::Global(_) => "global" as "extern";
    Object::Table(_) => "table" as "extern";
    Object::Memory(_) => "memory" as "extern";
    Object::Tag(_) => "tag" as "extern";
}
