//! Continuations that the host resumes, and how they end.

use ropewalk::*;

/// A continuation that runs an exported function.
pub fn continuation(mut store: impl AsContextMut, instance: Instance, name: &str) -> Continuation {
    let func = instance.get_func(&mut store, name).expect("exported");
    Continuation::new(&mut store, func).unwrap()
}

/// The tag and values that a continuation suspended with, and the continuation.
#[track_caller]
pub fn suspended<R: std::fmt::Debug>(resumed: Result<Resumed<R>>) -> (Tag, Vec<Val>, Continuation) {
    match resumed.unwrap() {
        Resumed::Suspended { tag, values, continuation } => (tag, values, continuation),
        Resumed::Returned(results) => panic!("it returned {results:?}"),
    }
}

/// The number that a continuation suspended with, and the continuation.
#[track_caller]
pub fn asked<R: std::fmt::Debug>(resumed: Result<Resumed<R>>) -> (i32, Continuation) {
    let (_, values, continuation) = suspended(resumed);
    (values[0].i32().expect("an i32"), continuation)
}

/// The results of a continuation.
#[track_caller]
pub fn results<R>(resumed: Result<Resumed<R>>) -> R {
    match resumed.unwrap() {
        Resumed::Returned(results) => results,
        Resumed::Suspended { tag, .. } => panic!("it suspended with {tag:?}"),
    }
}

/// The number that a continuation returned.
#[track_caller]
pub fn returned(resumed: Result<Resumed>) -> i32 {
    results(resumed)[0].i32().expect("an i32")
}
