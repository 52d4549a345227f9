//! References to objects.
//!
//! C has many types of objects, which can be cast to `ref` and some to `extern`. Here they are a
//! single type, whose kind is checked when it is used.

use crate::objects::store::StoreRef;
use crate::objects::thrown::Thrown;
use crate::support::boundary::{or_default, required};
use crate::support::host_info::{Attached, Finalizer, HostInfo, ObjectId};
use crate::support::owned::copied;
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
    /// A foreign object of C's, as an `externref`.
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

/// Functions of references of every kind.
macro_rules! references {
    ($(
        $copy:ident $delete:ident $same:ident $get:ident $set:ident $set_with_finalizer:ident;
    )*) => {$(
        copied! { $copy $delete: wasm_ref_t; }

        #[unsafe(no_mangle)]
        pub extern "C" fn $same(a: Option<&wasm_ref_t>, b: Option<&wasm_ref_t>) -> bool {
            or_default(|| match (a, b) {
                (Some(a), Some(b)) => a.same(b),
                (a, b) => Ok(a.is_none() && b.is_none()),
            })
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $get(reference: Option<&wasm_ref_t>) -> *mut c_void {
            attached(reference)
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $set(reference: Option<&wasm_ref_t>, pointer: *mut c_void) {
            attach(reference, pointer, None);
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $set_with_finalizer(
            reference: Option<&wasm_ref_t>,
            pointer: *mut c_void,
            finalizer: Finalizer,
        ) {
            attach(reference, pointer, finalizer);
        }
    )*};
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

references! {
    wasm_ref_copy wasm_ref_delete wasm_ref_same wasm_ref_get_host_info
        wasm_ref_set_host_info wasm_ref_set_host_info_with_finalizer;
    wasm_trap_copy wasm_trap_delete wasm_trap_same wasm_trap_get_host_info
        wasm_trap_set_host_info wasm_trap_set_host_info_with_finalizer;
    wasm_foreign_copy wasm_foreign_delete wasm_foreign_same wasm_foreign_get_host_info
        wasm_foreign_set_host_info wasm_foreign_set_host_info_with_finalizer;
    wasm_module_copy wasm_module_delete wasm_module_same wasm_module_get_host_info
        wasm_module_set_host_info wasm_module_set_host_info_with_finalizer;
    wasm_func_copy wasm_func_delete wasm_func_same wasm_func_get_host_info
        wasm_func_set_host_info wasm_func_set_host_info_with_finalizer;
    wasm_global_copy wasm_global_delete wasm_global_same wasm_global_get_host_info
        wasm_global_set_host_info wasm_global_set_host_info_with_finalizer;
    wasm_table_copy wasm_table_delete wasm_table_same wasm_table_get_host_info
        wasm_table_set_host_info wasm_table_set_host_info_with_finalizer;
    wasm_memory_copy wasm_memory_delete wasm_memory_same wasm_memory_get_host_info
        wasm_memory_set_host_info wasm_memory_set_host_info_with_finalizer;
    wasm_tag_copy wasm_tag_delete wasm_tag_same wasm_tag_get_host_info
        wasm_tag_set_host_info wasm_tag_set_host_info_with_finalizer;
    wasm_extern_copy wasm_extern_delete wasm_extern_same wasm_extern_get_host_info
        wasm_extern_set_host_info wasm_extern_set_host_info_with_finalizer;
    wasm_instance_copy wasm_instance_delete wasm_instance_same wasm_instance_get_host_info
        wasm_instance_set_host_info wasm_instance_set_host_info_with_finalizer;
}

/// Casts to a more general type, and checked casts back.
macro_rules! casts {
    ($($kinds:pat, $up:ident $up_const:ident $down:ident $down_const:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $up(object: Option<&mut wasm_ref_t>) -> Option<&mut wasm_ref_t> {
            object
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $up_const(object: Option<&wasm_ref_t>) -> Option<&wasm_ref_t> {
            object
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $down(reference: Option<&mut wasm_ref_t>) -> Option<&mut wasm_ref_t> {
            reference.filter(|reference| matches!(reference.object, $kinds))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $down_const(reference: Option<&wasm_ref_t>) -> Option<&wasm_ref_t> {
            reference.filter(|reference| matches!(reference.object, $kinds))
        }
    )*};
}

casts! {
    Object::Trap(_), wasm_trap_as_ref wasm_trap_as_ref_const
        wasm_ref_as_trap wasm_ref_as_trap_const;
    Object::Foreign(..), wasm_foreign_as_ref wasm_foreign_as_ref_const
        wasm_ref_as_foreign wasm_ref_as_foreign_const;
    Object::Module(..), wasm_module_as_ref wasm_module_as_ref_const
        wasm_ref_as_module wasm_ref_as_module_const;
    Object::Func(_), wasm_func_as_ref wasm_func_as_ref_const
        wasm_ref_as_func wasm_ref_as_func_const;
    Object::Global(_), wasm_global_as_ref wasm_global_as_ref_const
        wasm_ref_as_global wasm_ref_as_global_const;
    Object::Table(_), wasm_table_as_ref wasm_table_as_ref_const
        wasm_ref_as_table wasm_ref_as_table_const;
    Object::Memory(_), wasm_memory_as_ref wasm_memory_as_ref_const
        wasm_ref_as_memory wasm_ref_as_memory_const;
    Object::Tag(_), wasm_tag_as_ref wasm_tag_as_ref_const
        wasm_ref_as_tag wasm_ref_as_tag_const;
    Object::Instance(_), wasm_instance_as_ref wasm_instance_as_ref_const
        wasm_ref_as_instance wasm_ref_as_instance_const;
    Object::Func(_) | Object::Global(_) | Object::Table(_) | Object::Memory(_) | Object::Tag(_),
        wasm_extern_as_ref wasm_extern_as_ref_const wasm_ref_as_extern wasm_ref_as_extern_const;
    Object::Func(_), wasm_func_as_extern wasm_func_as_extern_const
        wasm_extern_as_func wasm_extern_as_func_const;
    Object::Global(_), wasm_global_as_extern wasm_global_as_extern_const
        wasm_extern_as_global wasm_extern_as_global_const;
    Object::Table(_), wasm_table_as_extern wasm_table_as_extern_const
        wasm_extern_as_table wasm_extern_as_table_const;
    Object::Memory(_), wasm_memory_as_extern wasm_memory_as_extern_const
        wasm_extern_as_memory wasm_extern_as_memory_const;
    Object::Tag(_), wasm_tag_as_extern wasm_tag_as_extern_const
        wasm_extern_as_tag wasm_extern_as_tag_const;
}
