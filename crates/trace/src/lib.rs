//! Traces of the stacks of a WebAssembly program.
//!
//! A [`Trace`] is a recording by an engine: the stacks, and each switch between them. It is stored
//! in files ([`Writer`], [`Trace::read`]). Viewers of Chrome and Perfetto
//! ([`Trace::write_chrome`]), a page for browsers ([`Trace::page`]) and still pictures
//! ([`Trace::svg`]) show it. A [`Timeline`] derives which stack ran when, and the parents of
//! stacks.
//!
//! This crate knows nothing of an engine.
#![forbid(unsafe_code)]

mod chrome;
mod file;
mod id;
mod labels;
mod page;
mod svg;
mod timeline;
mod trace;

pub use file::{BadTrace, Reading, Writer};
pub use id::{FramesId, FunctionId, PositionId, StackId, TagId};
pub use timeline::{Copied, Link, Run, Timeline};
pub use trace::{Design, Event, EventKind, Frame, Function, LEFT_OUT, Position, Stack, Tag, Trace};
