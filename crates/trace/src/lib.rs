//! What the stacks of a WebAssembly program did.
//!
//! A [`Trace`] is what an engine records: which stacks there were, and each switch between them.
//! It is kept in files ([`Writer`], [`Trace::read`]), and shown by the viewers of Chrome and Perfetto
//! ([`Trace::write_chrome`]), by a page of its own ([`Trace::page`]), and in stills
//! ([`Trace::svg`]). A [`Timeline`] says what the events mean: who ran when, and who was
//! whose parent.
//!
//! This crate knows nothing of an engine.
#![forbid(unsafe_code)]

mod chrome;
mod file;
mod id;
mod page;
mod svg;
mod timeline;
mod trace;
mod words;

pub use file::{BadTrace, Reading, Writer};
pub use id::{FramesId, FunctionId, PositionId, StackId, TagId};
pub use timeline::{Copied, Link, Run, Timeline};
pub use trace::{Design, Event, Frame, Function, LEFT_OUT, Position, Stack, Tag, Trace, What};
