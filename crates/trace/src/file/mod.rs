//! Files of traces (`.rwtrace`).
//!
//! ```text
//!   "\0rwtrace"  version: u32  block  block ...
//!
//!   block:   kind: u8   length: u32   checksum: u64   payload of that length
//! ```
//!
//! Numbers are little-endian. A payload is a sequence of items of one table, or of events, in
//! [postcard](https://docs.rs/postcard)'s format; nothing in it refers to what comes later in the
//! file. The last block is the end. So a file that is cut off still has all events but those that
//! had not been written whole, and [`Trace::read`](crate::Trace::read) says that it was cut off.
//!
//! The time of an event is stored as the difference to the event before it in its block.

mod block;
mod read;
mod write;

pub use read::{BadTrace, Reading};
pub use write::Writer;

/// What a file begins with.
const MAGIC: &[u8; 8] = b"\0rwtrace";

/// The version of the format. Every change of a type that is stored is a new one.
const VERSION: u32 = 2;
