//! The boundary to C: nothing panics through it, and what fails is kept for whoever asks.

use crate::error::ropewalk_error_t;
use anyhow::{Context as _, Error, Result, anyhow};
use std::any::Any;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A place of C's that a function fills, whatever was there before.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

thread_local! {
    /// Why the newest function of this thread failed that could not say so itself.
    static LAST_ERROR: Cell<Option<Error>> = const { Cell::new(None) };
}

/// Does what a function of the interface is for; a panic is an error.
pub(crate) fn caught<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    // A store in which the engine panics refuses to be used again, and what else is
    // shared is behind locks or is never half changed.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) => Err(anyhow!("a bug of the engine, which panicked: {}", words(&*panic))),
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// The same for a function that has no way to say what is wrong: it returns null, false
/// or zero, and `ropewalk_last_error` gives the error.
pub(crate) fn answer<R: Default>(run: impl FnOnce() -> Result<R>) -> R {
    caught(run).unwrap_or_else(|error| {
        set_last_error(error);
        R::default()
    })
}

/// The same for a function that returns its error.
pub(crate) fn outcome(run: impl FnOnce() -> Result<()>) -> Option<Box<ropewalk_error_t>> {
    caught(run).err().map(ropewalk_error_t::boxed)
}

pub(crate) fn set_last_error(error: Error) {
    LAST_ERROR.set(Some(error));
}

pub(crate) fn take_last_error() -> Option<Error> {
    LAST_ERROR.take()
}

/// What a pointer of C's points to, which the interface requires.
pub(crate) fn required<T>(pointer: Option<T>, name: &str) -> Result<T> {
    pointer.with_context(|| format!("expected a pointer to {name}, found null"))
}

/// Fills a place of C's.
pub(crate) fn fill<T>(out: Out<'_, T>, value: T) -> Result<()> {
    required(out, "a place for the result")?.write(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_can_be_asked_for() {
        let found: bool = answer(|| panic!("number {}", 5));
        assert!(!found);
        let error = take_last_error().expect("it was kept").to_string();
        assert_eq!(error, "a bug of the engine, which panicked: number 5");
        assert!(take_last_error().is_none());
        assert!(outcome(|| panic!("again")).is_some());
    }

    #[test]
    fn null_is_an_error_that_says_what_was_expected() {
        let error = required(None::<&u8>, "a store").expect_err("it is null");
        assert_eq!(error.to_string(), "expected a pointer to a store, found null");
    }
}
