//! The boundary to C: panics become errors, and null pointers are checked.

use anyhow::{Context as _, Error, Result, anyhow};
use std::any::Any;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A C location for a result, which may be uninitialized.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

thread_local! {
    /// The error of this thread's last function that failed and could not return its error.
    static LAST_ERROR: Cell<Option<Error>> = const { Cell::new(None) };
}

/// Runs the body of a function; a panic is an error.
pub(crate) fn catch<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    // A store in which the engine panics refuses further use. Other shared state is behind
    // locks or is never left inconsistent.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) => Err(anyhow!("the engine panicked, which is a bug: {}", message(&*panic))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Runs the body of a function that cannot return an error. On failure it returns null, false or
/// zero, and `ropewalk_last_error` returns the error.
pub(crate) fn or_default<R: Default>(run: impl FnOnce() -> Result<R>) -> R {
    catch(run).unwrap_or_else(|error| {
        LAST_ERROR.set(Some(error));
        R::default()
    })
}

/// Like [`or_default`], for a function that stores its result in `out`.
pub(crate) fn fill_or_default<T: Default>(out: Out<'_, T>, run: impl FnOnce() -> Result<T>) {
    or_default(|| fill_with(out, run));
}

pub(crate) fn take_last_error() -> Option<Error> {
    LAST_ERROR.take()
}

/// Fails if a pointer that the interface requires is null.
pub(crate) fn required<T>(pointer: Option<T>, name: &str) -> Result<T> {
    pointer.with_context(|| format!("expected a pointer to {name}, found null"))
}

/// Stores a result in `out`.
pub(crate) fn fill<T>(out: Out<'_, T>, value: T) -> Result<()> {
    required(out, "a location for the result")?.write(value);
    Ok(())
}

/// Computes a result and stores it in `out`, which gets the default on failure.
pub(crate) fn fill_with<T: Default>(
    out: Out<'_, T>,
    run: impl FnOnce() -> Result<T>,
) -> Result<()> {
    let out = required(out, "a location for the result")?.write(T::default());
    *out = run()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_last_error() {
        let found: bool = or_default(|| panic!("number {}", 5));
        assert!(!found);
        let error = take_last_error().expect("an error").to_string();
        assert_eq!(error, "the engine panicked, which is a bug: number 5");
        assert!(take_last_error().is_none());
        assert!(catch(|| -> Result<()> { panic!("again") }).is_err());
    }

    #[test]
    fn the_error_about_null_names_the_expected_object() {
        let error = required(None::<&u8>, "a store").expect_err("null");
        assert_eq!(error.to_string(), "expected a pointer to a store, found null");
    }
}
