//! Host info: a pointer that C attaches to an object, with a finalizer.

use ropewalk::{FuncId, Global, Instance, Memory, Table, Tag};
use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A C function that frees what a pointer points to.
pub(crate) type Finalizer = Option<unsafe extern "C" fn(*mut c_void)>;

/// A C pointer with a finalizer, which is called on drop.
pub(crate) struct Attached {
    pub(crate) pointer: *mut c_void,
    finalizer: Finalizer,
}

// SAFETY: the pointer is only returned to C, which promises that any thread that uses or
// deletes the object may use what it points to.
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
            // SAFETY: C provided the function for this pointer, and it is called once.
            unsafe { finalizer(self.pointer) }
        }
    }
}

/// The host info of an object, which copies of a reference share.
#[derive(Default)]
pub(crate) struct HostInfo(Mutex<Attached>);

impl HostInfo {
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pointer
    }

    /// Replaces the host info, and calls the finalizer of the previous one.
    pub(crate) fn set(&self, attached: Attached) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *current, attached);
        // The finalizer may use this object.
        drop(current);
        drop(before);
    }
}

/// The identity of an object whose host info the store keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ObjectId {
    Func(FuncId),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Tag(Tag),
    Instance(Instance),
}
