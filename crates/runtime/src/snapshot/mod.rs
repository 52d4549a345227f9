//! Snapshots: saving a store that does not run, and restoring it in this process or another one.
//!
//! Code for snapshots [lists all pointers](ropewalk_abi::code::CallSite::pointers) of a frame
//! during a call. So every word of a store is known to be a number, a reference, an address of
//! code, a link, or the address of an object of the engine:
//!
//! ```text
//!   store                       written                            another store
//!   address of an object        where it lies in the heap          its address there
//!   reference to a stack        as it is                           the same: blocks have their numbers
//!   return address              module and offset, or a stub       that of the same code there
//!   link of a frame             distance from the stack's end      the same, of the stack there
//!   other address               what it is: an instance, a tag...  the address of that
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`image`] | what is written, as plain records |
//! | [`symbol`] | what addresses are, and what has which address |
//! | [`words`] | the words of a stack, by what they are, for both directions |
//! | [`layouts`] | where references lie in objects, likewise |
//! | [`blocks`] | those of stacks |
//! | [`take`], [`objects`], [`calls`], [`stacks`], [`places`] | writing a store down |
//! | [`restore`] | making a store of it |
//! | [`sections`], [`runs`] | all of it as bytes; only what differs from another |
//! | [`since`], [`ranges`] | what has changed since the last snapshot |
//! | [`error`] | why it cannot be done |
//!
//! Instances are not saved as they lie in memory. They are made again from the same modules in the
//! same order, and then get their globals, memories and tables.

mod blocks;
mod calls;
mod error;
mod image;
mod layouts;
mod objects;
mod places;
mod ranges;
mod restore;
mod runs;
mod sections;
mod since;
mod stacks;
mod symbol;
mod take;
mod words;

pub use error::SnapshotError;
pub use image::{Handle, ImportName};
pub use restore::{Host, RestoredCall, RestoredStore, ResumedByHost, restore};
pub use sections::Bytes;
pub use symbol::{LoadedTrampoline, Trampolines};
pub use take::{Base, Running, Take, take};
