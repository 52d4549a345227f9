//! Contexts: what the host grants to a program, and what the program has open.
//!
//! | module | contents |
//! | --- | --- |
//! | `builder` | making contexts |
//! | `stream` | standard streams and sockets |
//! | `permissions` | permissions of directories and files |
//! | `clock` | clocks |

pub(crate) mod builder;
pub(crate) mod clock;
pub(crate) mod permissions;
pub(crate) mod stream;

use crate::abi::guest_memory::Buffers;
use crate::files::descriptor_table::DescriptorTable;
use crate::files::directory::Listing;
use crate::recording::Recording;
use builder::WasiCtxBuilder;
use clock::Clocks;
use ropewalk::{Instance, Memory, Result};
use std::time::{Duration, Instant};

/// A program's arguments, environment, clocks and open files. It is part of a store's data, where
/// the closure given to [`add_to_linker`](crate::add_to_linker) finds it.
pub struct WasiCtx {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
    pub(crate) clocks: Clocks,
    /// None for the host's generator.
    pub(crate) random: Option<Random>,
    pub(crate) table: DescriptorTable,
    pub(crate) end_on_broken_pipe: bool,
    /// The names of the preopened directories, if the context may be saved.
    pub(crate) preopens: Option<Vec<String>>,
    /// The progress of the current call.
    pub(crate) progress: Progress,
    pub(crate) recording: Recording,
    /// The last instance that called, with its memory.
    pub(crate) memory: Option<(Instance, Memory)>,
}

/// The progress of a function that is called again, because it waits or has more chunks to do.
#[derive(Default)]
pub(crate) struct Progress {
    /// Whether the call must not block the thread.
    pub(crate) is_async: bool,
    /// Whether other calls have run since the call began.
    pub(crate) yielded: bool,
    /// The time of the first attempt.
    pub(crate) start: Option<StartTime>,
    /// How many bytes have been read, written or generated.
    pub(crate) done: usize,
    /// The buffers of a chunked read or write. A read may overwrite the program's array of them.
    pub(crate) buffers: Option<Box<Buffers>>,
    /// The partial listing of a directory.
    pub(crate) listing: Option<Box<Listing>>,
}

/// A point in time on three clocks.
#[derive(Clone, Copy)]
pub(crate) struct StartTime {
    pub(crate) host: Instant,
    pub(crate) wall: Duration,
    pub(crate) monotonic: Duration,
}

pub(crate) type Random = Box<dyn FnMut(&mut [u8]) + Send>;

impl std::fmt::Debug for WasiCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasiCtx").finish_non_exhaustive()
    }
}

impl WasiCtx {
    /// A builder. A context grants nothing by default.
    pub fn builder() -> WasiCtxBuilder {
        WasiCtxBuilder::new()
    }

    /// Whether the context [replays](WasiCtxBuilder::replay) a recording and has reached its end.
    /// The next call would end the program.
    pub fn has_replayed_all(&mut self) -> bool {
        match &mut self.recording {
            Recording::Replays(player) => player.is_at_end(),
            Recording::None | Recording::Records(_) => false,
        }
    }

    /// Ends a [recording](WasiCtxBuilder::record), if there is one, and writes buffered calls.
    /// Fails if a write fails or has failed before. The recording can then be replayed up to that
    /// write.
    pub fn finish_recording(&mut self) -> Result<()> {
        match std::mem::take(&mut self.recording) {
            Recording::Records(recorder) => Ok(recorder.finish()?),
            recording => {
                self.recording = recording;
                Ok(())
            }
        }
    }
}
