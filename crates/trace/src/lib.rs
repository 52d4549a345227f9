//! What the stacks of a WebAssembly program did.
//!
//! A [`Trace`] is what an engine records: which stacks there were, and each switch between them.
//! This crate knows nothing of an engine.
#![forbid(unsafe_code)]

mod id;
mod trace;

pub use id::{FramesId, FunctionId, PositionId, StackId, TagId};
pub use trace::{Design, Event, Frame, Function, Position, Stack, Tag, Trace, What};
