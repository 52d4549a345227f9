//! Watching a compilation from outside.

use crate::CompileError;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How far a compilation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes of functions are compiled.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// Is told after each function how far the compilation is, by several threads, and says
/// whether to go on.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// Nobody watches.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());

/// What the threads of a compilation share.
pub(crate) struct Watched<'a> {
    watch: Watch<'a>,
    done: AtomicUsize,
    total: usize,
    is_cancelled: AtomicBool,
}

impl<'a> Watched<'a> {
    /// A compilation of so many bytes.
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

    /// Notes that so many more bytes are compiled.
    pub fn advance(&self, bytes: usize) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if (self.watch)(Progress { done, total: self.total }).is_break() {
            self.is_cancelled.store(true, Ordering::Relaxed);
        }
    }
}
