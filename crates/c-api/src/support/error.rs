//! Errors with messages.

use crate::support::boundary::{Out, catch, fill, fill_with, or_default, take_last_error};
use crate::support::owned::deleted;
use crate::support::vector::Vector;
use anyhow::{Error, Result};

/// An error other than a trap.
pub struct ropewalk_error_t(Error);

impl ropewalk_error_t {
    fn boxed(error: Error) -> Box<ropewalk_error_t> {
        Box::new(ropewalk_error_t(error))
    }
}

/// Runs the body of a function that returns its error.
pub(crate) fn or_error(run: impl FnOnce() -> Result<()>) -> Option<Box<ropewalk_error_t>> {
    catch(run).err().map(ropewalk_error_t::boxed)
}

/// Like [`or_error`], for a function that stores its result in `out`.
pub(crate) fn fill_or_error<T: Default>(
    out: Out<'_, T>,
    run: impl FnOnce() -> Result<T>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| fill_with(out, run))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_error_message(
    error: Option<&ropewalk_error_t>,
    out: Out<'_, Vector<u8>>,
) {
    or_default(|| {
        let text = error.map(|error| format!("{:#}", error.0)).unwrap_or_default();
        fill(out, Vector::text(&text))
    });
}

deleted! {
    "ropewalk_error": ropewalk_error_t;
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_last_error() -> Option<Box<ropewalk_error_t>> {
    take_last_error().map(ropewalk_error_t::boxed)
}
