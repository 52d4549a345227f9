//! Host functions that fail: they throw an exception, suspend their caller, leave a pending call,
//! or end the activation.

use crate::host::pending_call::{self, Later};
use crate::host::signature::called_as;
use crate::items::exception::Exception;
use crate::stacks::suspension::Suspension;
use anyhow::Error;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{HostContext, RawVal};
use ropewalk_runtime::embedder::guarded;
use ropewalk_runtime::{Backtrace, Ending, Store as RuntimeStore};

/// Leaves the call if the error is a [`Later`], and otherwise fails.
///
/// # Safety
///
/// As for [`fail`]. `values` must be the arguments of the function.
pub(super) unsafe fn leave_or_fail(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    values: *const RawVal,
    error: Error,
) -> Outcome {
    // Errors and their contexts are values of the embedder, whose destructors may panic.
    // SAFETY: the caller's promise.
    let left = guarded(|| unsafe {
        match error.downcast::<Later>() {
            Ok(later) => pending_call::leave(runtime, context, values, later),
            Err(error) => fail(runtime, context, error),
        }
    });
    left.unwrap_or_else(|panic| end(runtime, Ending::Panic(panic)))
}

/// Throws an exception, suspends the caller, or ends the activation, as the error says.
///
/// # Safety
///
/// The context must belong to the host function of the store that runs.
#[cold]
pub(super) unsafe fn fail(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    error: Error,
) -> Outcome {
    match guarded(|| Failure::of(runtime, error)) {
        Ok(Failure::Throws(exception, backtrace)) => runtime.throw_from(exception, backtrace),
        Ok(Failure::Suspends(suspension)) => {
            // SAFETY: the caller's promise.
            let ty = unsafe { called_as(runtime, context) };
            let begun = suspension.begin(runtime, &ty);
            begun.unwrap_or_else(|error| end(runtime, Ending::Error(error)))
        }
        Ok(Failure::Ends(error)) => end(runtime, Ending::Error(error)),
        Err(panic) => end(runtime, Ending::Panic(panic)),
    }
}

#[cold]
pub(super) fn end(runtime: &mut RuntimeStore, ending: Ending) -> Outcome {
    runtime.set_ending(ending);
    Outcome::END
}

/// The meaning of a host function's error. It holds nothing whose destructor could run code of
/// the embedder while the engine throws or suspends.
enum Failure {
    /// An exception, and where it was thrown if that is known.
    Throws(u64, Backtrace),
    Suspends(Suspension),
    Ends(Error),
}

impl Failure {
    fn of(runtime: &RuntimeStore, error: Error) -> Failure {
        // The caller of the function does not continue.
        if runtime.running.check_usable().is_err() {
            return Failure::Ends(error);
        }
        match thrown(runtime, &error) {
            Some((exception, backtrace)) => Failure::Throws(exception, backtrace),
            None => error.downcast().map_or_else(Failure::Ends, Failure::Suspends),
        }
    }
}

/// The exception that an error is, if it is one of this store, and where it was thrown.
fn thrown(runtime: &RuntimeStore, error: &Error) -> Option<(u64, Backtrace)> {
    let exception = error.downcast_ref::<Exception>()?;
    let word = exception.owned().word(runtime).ok()?;
    Some((word, exception.backtrace().clone()))
}
