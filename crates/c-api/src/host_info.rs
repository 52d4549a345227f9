//! What C attaches to an object: a pointer, and a function that is called in the end.

use crate::reference::Object;
use crate::store::StoreRef;
use anyhow::Result;
use ropewalk::{FuncId, Global, Instance, Memory, Table, Tag};
use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// A function of C's that is told that nobody needs something any more.
pub(crate) type Finalizer = Option<unsafe extern "C" fn(*mut c_void)>;

/// A pointer of C's, which its finalizer gets when this is dropped.
pub(crate) struct Attached {
    pub(crate) pointer: *mut c_void,
    finalizer: Finalizer,
}

// SAFETY: the pointer is only handed back to C, which promises that what it points to may
// be used by whichever thread uses or deletes the object.
unsafe impl Send for Attached {}
// SAFETY: as above.
unsafe impl Sync for Attached {}

impl Attached {
    pub(crate) fn new(pointer: *mut c_void, finalizer: Finalizer) -> Attached {
        Attached { pointer, finalizer }
    }
}

impl Default for Attached {
    fn default() -> Self {
        Attached { pointer: ptr::null_mut(), finalizer: None }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(finalizer) = self.finalizer {
            // SAFETY: C gave the function for this pointer, and it is called once.
            unsafe { finalizer(self.pointer) }
        }
    }
}

/// What is attached to an object that copies of a reference share.
#[derive(Default)]
pub(crate) struct HostInfo(Mutex<Attached>);

impl HostInfo {
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pointer
    }

    /// Attaches something else; the finalizer of what was there is called.
    pub(crate) fn set(&self, attached: Attached) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *place, attached);
        // The finalizer may use this object.
        drop(place);
        drop(before);
    }
}

/// Which object of a store something is attached to. It lasts as long as the store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Func(FuncId),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Tag(Tag),
    Instance(Instance),
}

/// Where what is attached to an object is kept.
pub(crate) fn of(store: Option<&StoreRef>, object: &Object) -> Result<Arc<HostInfo>> {
    let place = match object {
        Object::Func(func) => {
            let store = crate::boundary::required(store, "the store of a function")?;
            Place::Func(store.enter(|context| func.id(&context))?)
        }
        Object::Global(global) => Place::Global(*global),
        Object::Table(table) => Place::Table(*table),
        Object::Memory(memory) => Place::Memory(*memory),
        Object::Tag(tag) => Place::Tag(*tag),
        Object::Instance(instance) => Place::Instance(*instance),
        Object::Module(_, info)
        | Object::Foreign(_, info)
        | Object::External(_, info)
        | Object::Any(_, info)
        | Object::Exception(_, info)
        | Object::Continuation(_, info)
        | Object::Vector(_, info) => return Ok(info.clone()),
        Object::Trap(trap) => return Ok(trap.info.clone()),
    };
    Ok(crate::boundary::required(store, "the store of an object")?.host_info(place))
}
