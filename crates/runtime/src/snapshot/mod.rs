//! Snapshots: saving a store that does not run, and restoring it in this process or another one.
//!
//! Code for snapshots [lists all pointers](ropewalk_abi::code::CallSite::pointers) of a frame
//! during a call. So every word of a store is known to be a number, a reference, an address of
//! code, a link, or the address of an object of the engine:
//!
//! ```text
//!   store                       snapshot                           restored store
//!   address of an object        offset in the heap                 its address there
//!   reference to a stack        the same                           the same: blocks keep their numbers
//!   return address              module and offset, or a stub       the address of that code there
//!   link of a frame             distance from the stack's end      the same, for the stack there
//!   other address               a symbol: an instance, a tag...    the address of that object there
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | [`take`], [`objects`], [`calls`], [`stacks`] | taking a snapshot |
//! | [`restore`] | restoring it |
//! | [`image`], [`blocks`] | the serialized form of a store |
//! | [`symbol`] | names of addresses |
//! | [`stack_words`], [`layouts`] | the words of a stack and the references of an object, for both directions |
//! | [`format`](mod@format), [`section`] | the file format, incremental snapshots |
//! | [`tracking`], [`frame_space`], [`ranges`] | changes since the last snapshot |
//! | [`error`] | errors |
//!
//! Instances are made again from the same modules, and then get their saved contents.

mod blocks;
mod calls;
mod error;
mod format;
mod frame_space;
mod image;
mod layouts;
mod objects;
mod ranges;
mod restore;
mod section;
mod stack_words;
mod stacks;
mod symbol;
mod take;
mod tracking;

pub use error::SnapshotError;
pub use format::Bytes;
pub use image::{Handle, ImportName};
pub use restore::{Host, RestoredCall, RestoredStore, ResumedByHost, restore};
pub use symbol::{LoadedTrampoline, Trampolines};
pub use take::{Base, Running, Take, take};
