//! Recording calls of WASI, and replaying them.
//!
//! The behavior of a program is determined by its code and by what WASI functions give it:
//! results, and bytes that they write into its memory. A recording contains these, call by call.
//! A replay does not use the host. Each call must match the recorded one, and gets the recorded
//! results. Only the output to the standard streams is written again.
//!
//! ```text
//!   "ropewalk-calls" version | Header, RecordedCall | Header, RecordedCall | ...
//! ```
//!
//! A call that writes much memory is recorded in several parts; the last part contains the
//! outcome. The [header](Header) of a part has a checksum of all parts up to it, so a replay
//! detects changed, missing and reordered parts.
//!
//! A call with side effects is written as soon as it ends, with all calls before it. Calls that
//! only query the time, random numbers, arguments or the environment are buffered until then. So
//! the recording of a killed program contains all its effects.
//!
//! A write error ends the recording but does not affect the program.
//! [`finish_recording`](crate::WasiCtx::finish_recording) returns the error.

pub(crate) mod recorder;
pub(crate) mod replayer;

use recorder::Recorder;
use replayer::Replayer;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first bytes of a recording; the last of them is the version.
const MAGIC: &[u8; 16] = b"ropewalk-calls\0\x03";

/// The name and the arguments of a call, for recordings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallId<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) arguments: [i64; N],
}

/// A recorded call, or a part of one.
#[derive(Debug, Serialize, Deserialize)]
struct RecordedCall<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, [i64]>,
    /// None if another part follows.
    outcome: Option<Outcome>,
    /// The bytes that were written into memory, with their addresses.
    #[serde(borrow)]
    written: Vec<(u32, Cow<'a, [u8]>)>,
}

/// The header of a part.
struct Header {
    /// The number of bytes in the part.
    len: u32,
    /// A checksum of these bytes, with the checksum of the previous part as its seed.
    sum: u64,
}

impl Header {
    const LEN: usize = 16;

    /// The header of a part that follows a part with the checksum `previous`.
    fn new(part: &[u8], previous: u64) -> Header {
        let len = u32::try_from(part.len()).expect("parts are short");
        Header { len, sum: xxh3_64_with_seed(part, previous) }
    }

    /// The length, the checksum, and a checksum of both, which detects a damaged length.
    fn to_bytes(&self) -> [u8; Header::LEN] {
        let mut bytes = [0; Header::LEN];
        bytes[..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.sum.to_le_bytes());
        let check = xxh3_64(&bytes[..12]) as u32;
        bytes[12..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Returns nothing if the bytes are damaged.
    fn from_bytes(bytes: &[u8; Header::LEN]) -> Option<Header> {
        let (len, sum) = (bytes[..4].try_into().ok()?, bytes[4..12].try_into().ok()?);
        let header = Header { len: u32::from_le_bytes(len), sum: u64::from_le_bytes(sum) };
        (header.to_bytes() == *bytes).then_some(header)
    }
}

/// What a function returned.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Outcome {
    /// The function returned an error number, or zero.
    Errno(u16),
    /// The program exited with a code.
    Exit(i32),
    /// The program ended because of a broken pipe.
    BrokenPipe,
    /// The program ended with another error.
    Ended,
}

/// Whether calls are recorded or replayed.
#[derive(Default)]
pub(crate) enum Recording {
    #[default]
    None,
    Records(Recorder),
    Replays(Box<Replayer>),
}

impl Recording {
    pub(crate) fn records(&self) -> bool {
        matches!(self, Recording::Records(_))
    }
}
