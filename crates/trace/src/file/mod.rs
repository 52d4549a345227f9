//! Files of traces (`.rwtrace`).
//!
//! ```text
//!   "\0rwtrace"  version: u32  block  block ...
//!
//!   block:   kind: u8   length: u32   checksum: u64   payload of that length
//! ```
//!
//! Numbers are little-endian. A payload is a sequence of items of one table, or of events, in
//! [postcard](https://docs.rs/postcard)'s format, and refers only to earlier items of the file. The
//! last block marks the end. So a truncated file has all events except incomplete ones, and
//! [`Trace::read`](crate::Trace::read) reports the truncation.
//!
//! The time of an event is stored as the difference to the event before it in its block.

mod block;
mod read;
mod write;

pub use read::{BadTrace, Reading};
pub use write::Writer;

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"\0rwtrace";

/// The version of the format. A change of any stored type needs a new version.
const VERSION: u32 = 3;
