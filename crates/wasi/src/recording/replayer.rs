//! Reads a recording and replays its calls.

use super::{CallId, Header, MAGIC, Outcome, RecordedCall, Recording};
use crate::abi::errno::Errno;
use crate::abi::guest_memory::{GuestMemory, word};
use crate::exit::{BrokenPipe, I32Exit};
use crate::failure::{Failure, Result};
use crate::files::descriptor_table::DescriptorTable;
use ropewalk::Error;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(crate) struct Replayer {
    input: BufReader<Box<dyn Read + Send>>,
    /// The checksum of the last part.
    sum: u64,
    /// The number of replayed calls.
    calls: u64,
    /// The encoded current part.
    buffer: Vec<u8>,
    /// The descriptors of the program that are its standard output and error.
    streams: BTreeMap<i32, i32>,
}

impl Replayer {
    pub(crate) fn new(input: Box<dyn Read + Send>) -> io::Result<Replayer> {
        let mut input = BufReader::new(input);
        let mut magic = [0; MAGIC.len()];
        let begins = input.read_exact(&mut magic);
        if begins.is_err() || magic != *MAGIC {
            return Err(io::Error::other(
                "this is not a recording made by this version of Ropewalk",
            ));
        }
        let streams = [(1, 1), (2, 2)].into();
        Ok(Replayer { input, sum: 0, calls: 0, buffer: Vec::new(), streams })
    }

    /// Replays a call. If it wrote to its standard output or error, returns the stream and the
    /// number of bytes.
    fn play<const N: usize>(
        &mut self,
        id: &CallId<N>,
        guest: &mut GuestMemory<'_>,
    ) -> Result<Option<(i32, usize)>> {
        let outcome = loop {
            if let Some(outcome) = self.play_part(id, guest)? {
                break outcome;
            }
        };
        self.calls += 1;
        match outcome {
            Outcome::Errno(0) => Ok(self.follow(id, guest)),
            Outcome::Errno(errno) => Err(Errno::from_number(errno).into()),
            Outcome::Exit(code) => Err(Failure::End(I32Exit(code).into())),
            Outcome::BrokenPipe => Err(Failure::End(BrokenPipe.into())),
            Outcome::Ended => {
                Err(Failure::End(Error::msg("the recorded program ended in this call")))
            }
        }
    }

    /// Replays a part of a call; returns the outcome after the last part.
    fn play_part<const N: usize>(
        &mut self,
        id: &CallId<N>,
        guest: &mut GuestMemory<'_>,
    ) -> Result<Option<Outcome>> {
        self.read()?;
        let number = self.calls + 1;
        let differs = |what: String| {
            let text = format!("the program differs from the recording: call {number} {what}");
            Failure::End(Error::msg(text))
        };
        let call: RecordedCall<'_> =
            postcard::from_bytes(&self.buffer).map_err(|_| Failure::End(damaged(self.calls)))?;
        if call.name != id.name || *call.arguments != id.arguments {
            let recorded = describe(&call.name, &call.arguments);
            let found = describe(id.name, &id.arguments);
            return Err(differs(format!("was {recorded}, but is {found}")));
        }
        for (at, bytes) in &call.written {
            let range = guest.range(*at as i32, bytes.len());
            let range = range.map_err(|_| differs("wrote outside of memory".into()))?;
            guest.get_mut(range).copy_from_slice(bytes);
        }
        Ok(call.outcome)
    }

    /// Reads the next part.
    fn read(&mut self) -> Result {
        let mut head = [0; Header::LEN];
        let end = Failure::End(Error::msg(format!(
            "the recording ends here, after {} calls of the host",
            self.calls
        )));
        if self.input.read_exact(&mut head).is_err() {
            return Err(end);
        }
        let head = Header::from_bytes(&head).ok_or_else(|| Failure::End(damaged(self.calls)))?;
        self.buffer.clear();
        let read = (&mut self.input).take(head.len.into()).read_to_end(&mut self.buffer);
        if !read.is_ok_and(|read| read == head.len as usize) {
            return Err(end);
        }
        if xxh3_64_with_seed(&self.buffer, self.sum) != head.sum {
            return Err(Failure::End(damaged(self.calls)));
        }
        self.sum = head.sum;
        Ok(())
    }

    /// Whether all calls have been replayed.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.input.fill_buf().map_or(true, <[u8]>::is_empty)
    }

    /// Tracks the descriptors of the standard output and error across a successful call. Returns
    /// the stream that the call wrote to, and the number of bytes.
    fn follow<const N: usize>(
        &mut self,
        id: &CallId<N>,
        guest: &GuestMemory<'_>,
    ) -> Option<(i32, usize)> {
        let argument = |i: usize| id.arguments[i] as i32;
        match id.name {
            "fd_close" => drop(self.streams.remove(&argument(0))),
            "fd_renumber" if argument(0) != argument(1) => {
                match self.streams.remove(&argument(0)) {
                    Some(stream) => drop(self.streams.insert(argument(1), stream)),
                    None => drop(self.streams.remove(&argument(1))),
                }
            }
            "fd_write" => {
                let stream = *self.streams.get(&argument(0))?;
                let written = guest.range(argument(3), 4).ok()?;
                return Some((stream, word(guest.get(written), 0) as usize));
            }
            _ => {}
        }
        None
    }
}

fn damaged(calls: u64) -> Error {
    Error::msg(format!("the recording is damaged after {calls} calls of the host"))
}

fn describe(name: &str, arguments: &[i64]) -> String {
    let arguments: Vec<String> = arguments.iter().map(i64::to_string).collect();
    format!("{name}({})", arguments.join(", "))
}

/// Replays a call, if calls are replayed.
pub(crate) fn replay<const N: usize>(
    recording: &mut Recording,
    table: &DescriptorTable,
    id: &CallId<N>,
    guest: &mut GuestMemory<'_>,
) -> Option<Result> {
    let Recording::Replays(replayer) = recording else { return None };
    let played = replayer.play(id, guest).map(|written| {
        if let Some((stream, len)) = written {
            write_again(table, id, guest, stream, len);
        }
    });
    Some(played)
}

/// Writes the output of a replayed call to a standard stream. Errors are ignored, since the
/// program must not notice them.
fn write_again<const N: usize>(
    table: &DescriptorTable,
    id: &CallId<N>,
    guest: &GuestMemory<'_>,
    stream: i32,
    mut len: usize,
) {
    let (vectors, count) = (id.arguments[1] as i32, id.arguments[2] as i32);
    let Ok(buffers) = guest.buffers(vectors, count) else { return };
    for buffer in buffers {
        let mut bytes = guest.get(buffer);
        bytes = &bytes[..bytes.len().min(len)];
        len -= bytes.len();
        while !bytes.is_empty() {
            let slices = [io::IoSlice::new(bytes)];
            let written = table.get(stream).and_then(|stream| stream.write(&slices, false));
            match written {
                Ok(written) => bytes = &bytes[written..],
                Err(Failure::Wait(wait)) if wait.block().is_ok() => {}
                Err(_) => return,
            }
        }
    }
}
