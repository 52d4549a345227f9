//! Progress reports of a compilation, and its cancellation.

use crate::CompileError;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The progress of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The bytes of functions that are compiled.
    pub done: usize,
    /// The bytes of all functions.
    pub total: usize,
}

/// A callback for the progress after each function. Several threads call it; a break cancels the
/// compilation.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// A callback that ignores the progress.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());

/// The progress that the threads of a compilation share.
pub(crate) struct Watched<'a> {
    watch: Watch<'a>,
    done: AtomicUsize,
    total: usize,
    is_cancelled: AtomicBool,
}

impl<'a> Watched<'a> {
    /// Starts a compilation of `total` bytes.
    pub fn new(watch: Watch<'a>, total: usize) -> Watched<'a> {
        Watched { watch, total, done: AtomicUsize::new(0), is_cancelled: AtomicBool::new(false) }
    }

    /// Fails if the compilation was cancelled.
    pub fn check(&self) -> Result<(), CompileError> {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Err(CompileError::Cancelled),
            false => Ok(()),
        }
    }

    /// Adds compiled bytes, and reports the progress.
    pub fn advance(&self, bytes: usize) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if (self.watch)(Progress { done, total: self.total }).is_break() {
            self.is_cancelled.store(true, Ordering::Relaxed);
        }
    }
}
