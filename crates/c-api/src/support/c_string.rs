//! C strings, which end with a zero.

use crate::support::boundary::required;
use anyhow::{Context, Result};
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A string. `name` is its role in error messages.
///
/// # Safety
///
/// It must be null or end with a zero.
pub(crate) unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<&'a CStr> {
    required((!text.is_null()).then_some(()), name)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// A string in UTF-8.
///
/// # Safety
///
/// As for [`string`].
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let text = unsafe { string(text, name)? };
    text.to_str().with_context(|| format!("expected {name} in UTF-8"))
}

/// A path.
///
/// # Safety
///
/// As for [`string`].
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { string(path, "a path")? }.to_bytes();
    Ok(Path::new(OsStr::from_bytes(bytes)))
}
