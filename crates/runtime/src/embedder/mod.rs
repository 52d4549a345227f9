//! Code of the embedder that a store calls: its limiter, its hooks, its wakers, and what its
//! values do when they are dropped.
//!
//! Two rules keep a store safe from it. The embedder's code runs when the store is whole, or else
//! it gets nothing that leads to the store. And its panics never unwind through the engine: all
//! of it is called by way of [`guarded`], and what it panics with is kept until the store is
//! whole. SECURITY.md lists every such call.

mod async_limiter;
mod growth;
mod limiter;

pub use async_limiter::{Answer, Answers, ResourceLimiterAsync};
pub(crate) use async_limiter::{AsyncLimiter, Question};
pub use growth::Growth;
pub(crate) use limiter::{Decision, Limiter, bytes};
pub use limiter::{Refused, ResourceLimiter, Undecided};

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic carries.
pub type Panic = Box<dyn Any + Send>;

/// Something of the embedder's with code of its own: a hook, a listener, a waker. The engine can
/// do nothing with it but have it called, which returns what it panics with.
pub struct Foreign<T>(T);

impl<T> Foreign<T> {
    /// Something of the embedder's.
    pub fn new(value: T) -> Foreign<T> {
        Foreign(value)
    }

    /// Has it called.
    pub(crate) fn call<R>(&mut self, code: impl FnOnce(&mut T) -> R) -> Result<R, Panic> {
        guarded(|| code(&mut self.0))
    }

    /// Has it called for the last time.
    pub(crate) fn call_once<R>(self, code: impl FnOnce(T) -> R) -> Result<R, Panic> {
        guarded(|| code(self.0))
    }
}

impl<T> fmt::Debug for Foreign<T> {
    /// Its own `Debug` would be code of the embedder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

/// Calls code of the embedder, and returns what it panics with.
pub fn guarded<R>(code: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Formats an error of the embedder. If its `Display` fails, what it has written is all there is.
pub(crate) fn text(error: fmt::Arguments<'_>) -> String {
    let mut text = String::new();
    let _ = fmt::write(&mut text, error);
    text
}

/// Drops what a panic carries, which is a value of the embedder too.
pub(crate) fn discard(panic: Panic) {
    if let Err(another) = guarded(|| drop(panic)) {
        // It panics again and again when it is dropped.
        std::mem::forget(another);
    }
}

/// Continues a panic, unless another one continues already.
pub fn resume(panic: Panic) {
    match std::thread::panicking() {
        true => discard(panic),
        false => resume_unwind(panic),
    }
}

/// What a store has of the embedder.
#[derive(Default)]
pub(crate) struct Embedder {
    /// Decides how much there may be.
    pub limiter: Limiter,
    /// The first panic that has not continued yet.
    panic: Option<Panic>,
}

impl Embedder {
    /// Has the limiter asked or told something. Nothing if it panics, which is kept; until the
    /// panic continues, nothing more is asked.
    pub fn ask<R>(&mut self, question: impl FnOnce(&mut Limiter) -> R) -> Option<R> {
        if self.has_panicked() {
            return None;
        }
        let limiter = &mut self.limiter;
        let answer = guarded(|| question(limiter));
        self.unless_panic(answer)
    }

    /// Drops a value of the embedder's. A panic is kept.
    pub fn drop_value<T>(&mut self, value: T) {
        let dropped = guarded(|| drop(value));
        self.unless_panic(dropped);
    }

    /// What code has returned, unless it has panicked.
    pub fn unless_panic<R>(&mut self, returned: Result<R, Panic>) -> Option<R> {
        match returned {
            Ok(returned) => Some(returned),
            Err(panic) => {
                self.keep(panic);
                None
            }
        }
    }

    /// Keeps a panic until it can continue. There can be only one, the first.
    pub fn keep(&mut self, panic: Panic) {
        match self.panic {
            None => self.panic = Some(panic),
            Some(_) => discard(panic),
        }
    }

    /// Whether a panic is kept.
    pub fn has_panicked(&self) -> bool {
        self.panic.is_some()
    }

    /// The panic that is to continue now.
    pub fn take_panic(&mut self) -> Option<Panic> {
        self.panic.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Panics when it is dropped, with another one like it.
    struct Endless(Arc<AtomicUsize>);

    impl Drop for Endless {
        fn drop(&mut self) {
            if self.0.fetch_add(1, Ordering::Relaxed) < 5 {
                std::panic::panic_any(Endless(self.0.clone()));
            }
        }
    }

    #[test]
    fn only_the_first_panic_is_kept_and_others_are_dropped_without_one() {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut embedder = Embedder::default();
        assert_eq!(embedder.unless_panic(guarded(|| -> u8 { panic!("first") })), None);
        embedder.drop_value(Endless(drops.clone()));
        assert_eq!(drops.load(Ordering::Relaxed), 2, "the value, and what it panicked with");
        let panic = embedder.take_panic().expect("the first one");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"first"));
        assert!(!embedder.has_panicked());
    }
}
