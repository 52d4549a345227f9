//! Calls into WebAssembly.

use crate::items::exception::Exception;
use anyhow::Result;
use ropewalk_abi::{FuncRef, RawVal};
use ropewalk_runtime::{Stop, Store as RuntimeStore, UncaughtException};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Calls a function, as [`ropewalk_runtime::call`] does. An uncaught exception becomes an
/// [`Exception`].
///
/// # Safety
///
/// As for [`ropewalk_runtime::call`].
#[inline]
pub(crate) unsafe fn call(
    runtime: NonNull<RuntimeStore>,
    function: NonNull<FuncRef>,
    trampoline: *const c_void,
    values: *mut RawVal,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let result = unsafe { ropewalk_runtime::call(runtime, function, trampoline, values) };
    result.map_err(public_error)
}

/// The end of an activation that cannot wait.
#[inline]
pub(crate) fn ended<R>(stop: Result<R, Stop>) -> Result<R> {
    stop.map_err(|stop| public_error(stop.into_error()))
}

#[cold]
pub(crate) fn public_error(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<UncaughtException>() {
        Ok(uncaught) => Exception::uncaught(uncaught).into(),
        Err(error) => error,
    }
}
