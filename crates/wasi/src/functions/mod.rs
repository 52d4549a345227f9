//! The functions of WASI, by kind.
//!
//! A function takes its [`Call`](crate::call::Call) and the numbers that the program passes. It
//! checks its arguments, acts, and stores its results last. It returns success or an error
//! number.

pub(crate) mod chunks;
pub(crate) mod fd;
pub(crate) mod path;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod sock;
