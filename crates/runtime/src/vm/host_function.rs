//! Host functions.

use crate::code::types::TypeRegistry;
use ropewalk_abi::{HostContext, StoreContext, TypeInfo, ValType};
use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// A host function, for any number of stores.
pub struct HostFunction {
    /// Its type.
    pub ty: *const TypeInfo,
    /// The number of its type.
    pub type_id: u32,
    /// The trampoline that functions call it by. It is set before the function is used in a store.
    pub trampoline: OnceLock<Trampoline>,
    /// The value of [`HostContext::function`].
    pub function: *const c_void,
    /// Whether its results can be those of another type, perhaps after a check.
    pub results_fit: fn(&TypeRegistry, &[ValType], &[ValType]) -> bool,
    /// The data that it closes over.
    pub data: Box<dyn Any + Send + Sync>,
}

/// Code between functions and the host.
#[derive(Clone, Copy, Debug)]
pub struct Trampoline(pub *const c_void);

// SAFETY: the pointer is to code, which lives as long as the engine.
unsafe impl Send for Trampoline {}
// SAFETY: as above.
unsafe impl Sync for Trampoline {}

// SAFETY: the pointers are to code, which lives as long as the engine.
unsafe impl Send for HostFunction {}
// SAFETY: as above.
unsafe impl Sync for HostFunction {}

impl std::fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostFunction").field("ty", &self.ty).finish_non_exhaustive()
    }
}

impl HostFunction {
    /// The code that functions call it by.
    pub(crate) fn code(&self) -> *const c_void {
        self.trampoline.get().expect("made before the function is used in a store").0
    }

    pub(crate) fn context(&self, store: *mut StoreContext) -> HostContext {
        HostContext {
            store,
            function: self.function,
            data: ptr::from_ref(&*self.data).cast(),
            importer: ptr::null_mut(),
            ty: self.ty,
        }
    }
}
