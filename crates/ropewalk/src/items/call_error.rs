//! The ends of calls into WebAssembly.

use crate::items::exception::Exception;
use anyhow::Result;
use ropewalk_runtime::{Stop, UncaughtException};

/// The end of an activation that cannot wait.
#[inline]
pub(crate) fn ended<R>(stop: Result<R, Stop>) -> Result<R> {
    stop.map_err(|stop| public_error(stop.into_error()))
}

/// The error of a call for the embedder: an uncaught exception becomes an [`Exception`].
#[cold]
pub(crate) fn public_error(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<UncaughtException>() {
        Ok(uncaught) => Exception::uncaught(uncaught).into(),
        Err(error) => error,
    }
}
