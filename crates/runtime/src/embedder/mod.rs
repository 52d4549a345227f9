//! Calls of the embedder's code: its limiter, hooks and wakers, and the `drop` of its values.
//!
//! Two rules keep a store safe. The embedder's code runs only while the store is consistent, or
//! else gets nothing that leads to the store. And its panics never unwind through the engine: every
//! call goes through [`guarded`], and a panic is kept until the store is consistent. SECURITY.md
//! lists every such call.

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

/// The payload of a panic.
pub type Panic = Box<dyn Any + Send>;

/// A value with code of the embedder: a hook, a listener, a waker. The engine can only call it, and
/// the call returns its panic.
pub struct Foreign<T>(T);

impl<T> Foreign<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Foreign<T> {
        Foreign(value)
    }

    pub(crate) fn call<R>(&mut self, code: impl FnOnce(&mut T) -> R) -> Result<R, Panic> {
        guarded(|| code(&mut self.0))
    }

    /// Calls it for the last time.
    pub(crate) fn call_once<R>(self, code: impl FnOnce(T) -> R) -> Result<R, Panic> {
        guarded(|| code(self.0))
    }
}

impl<T> fmt::Debug for Foreign<T> {
    /// The value's own `Debug` would be code of the embedder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

/// Calls code of the embedder. Returns its panic as an error.
pub fn guarded<R>(code: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Formats an error of the embedder. If its `Display` fails, the text ends there.
pub(crate) fn text(error: fmt::Arguments<'_>) -> String {
    let mut text = String::new();
    let _ = fmt::write(&mut text, error);
    text
}

/// Drops the payload of a panic, which is also a value of the embedder.
pub(crate) fn discard(panic: Panic) {
    if let Err(another) = guarded(|| drop(panic)) {
        // Its `drop` always panics.
        std::mem::forget(another);
    }
}

/// Continues a panic, unless the thread is already panicking.
pub fn resume(panic: Panic) {
    match std::thread::panicking() {
        true => discard(panic),
        false => resume_unwind(panic),
    }
}

/// The parts of a store that belong to the embedder.
#[derive(Default)]
pub(crate) struct Embedder {
    pub limiter: Limiter,
    /// The first panic that has not continued yet.
    panic: Option<Panic>,
}

impl Embedder {
    /// Calls the limiter. Returns `None` if it panics, and keeps the panic. Until that continues,
    /// the limiter is not called again.
    pub fn ask<R>(&mut self, question: impl FnOnce(&mut Limiter) -> R) -> Option<R> {
        if self.has_panicked() {
            return None;
        }
        let limiter = &mut self.limiter;
        let answer = guarded(|| question(limiter));
        self.unless_panic(answer)
    }

    /// Drops a value of the embedder, and keeps its panic.
    pub fn drop_value<T>(&mut self, value: T) {
        let dropped = guarded(|| drop(value));
        self.unless_panic(dropped);
    }

    /// The result of a call, or `None` if it panicked. Keeps the panic.
    pub fn unless_panic<R>(&mut self, returned: Result<R, Panic>) -> Option<R> {
        match returned {
            Ok(returned) => Some(returned),
            Err(panic) => {
                self.keep(panic);
                None
            }
        }
    }

    /// Keeps a panic until it can continue. Later ones are dropped.
    pub fn keep(&mut self, panic: Panic) {
        match self.panic {
            None => self.panic = Some(panic),
            Some(_) => discard(panic),
        }
    }

    #[inline]
    pub fn has_panicked(&self) -> bool {
        self.panic.is_some()
    }

    /// Takes the panic, which the caller must continue.
    pub fn take_panic(&mut self) -> Option<Panic> {
        self.panic.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Its `drop` panics with another one.
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
