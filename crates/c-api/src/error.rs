//! Errors with messages.

use crate::boundary::{self, Out, fill};
use crate::vector::Vector;
use anyhow::Error;

/// Why something failed that is not a computation of WebAssembly.
pub struct ropewalk_error_t(Error);

impl ropewalk_error_t {
    pub(crate) fn boxed(error: Error) -> Box<ropewalk_error_t> {
        Box::new(ropewalk_error_t(error))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_error_message(
    error: Option<&ropewalk_error_t>,
    out: Out<'_, Vector<u8>>,
) {
    boundary::answer(|| {
        let text = error.map(|error| format!("{:#}", error.0)).unwrap_or_default();
        fill(out, Vector::text(&text))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_error_delete(error: Option<Box<ropewalk_error_t>>) {
    boundary::answer(|| {
        drop(error);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_last_error() -> Option<Box<ropewalk_error_t>> {
    boundary::take_last_error().map(ropewalk_error_t::boxed)
}
