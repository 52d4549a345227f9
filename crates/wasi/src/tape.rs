//! Recordings of what a program got from its host, and running it again with them.
//!
//! A program is determined by its code and by what these functions give it: results, and
//! bytes that they write into its memory. A recording is a list of that, call by call.
//! When it is replayed, nothing is asked of the host: each call must be the one that was
//! recorded, and gets what was recorded. Only what the program writes to its standard
//! output and error is written again.
//!
//! ```text
//!   "ropewalk-calls" version | Head, Call | Head, Call | ...
//! ```
//!
//! A call that writes much into memory is several of these, each with a part of what it wrote;
//! the last one has what the function returned. A [head](Head) has a checksum of its call and of all calls before it, so that nothing is
//! replayed that is not as it was recorded, or not where it was.
//!
//! A call that others may have seen is written when it has ended, at once, with all before it.
//! One that only asks for the time, for random numbers, arguments or the environment is kept
//! until then, or until there are many. So the recording of a program that was killed has
//! everything that it had done.
//!
//! What cannot be written changes nothing for the program: the recording ends there, and
//! [whoever ends it](crate::WasiCtx::finish_recording) gets the error.

use crate::ctx::WasiCtx;
use crate::errno::{Errno, Failure, Result};
use crate::exit::{BrokenPipe, I32Exit};
use crate::guest::Guest;
use ropewalk::Error;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::ops::Range;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// What a recording begins with; the last byte is the version.
const MAGIC: &[u8; 16] = b"ropewalk-calls\0\x03";

/// A function and what it is called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) arguments: [i64; N],
}

/// A call as it is recorded, or a part of it.
#[derive(Debug, Serialize, Deserialize)]
struct Call<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, [i64]>,
    /// Nothing if another part follows.
    outcome: Option<Outcome>,
    /// What was written into memory, and where.
    #[serde(borrow)]
    written: Vec<(u32, Cow<'a, [u8]>)>,
}

/// What stands before a call.
struct Head {
    /// How many bytes the call has.
    len: u32,
    /// A checksum of these, which begins with that of the call before.
    sum: u64,
}

impl Head {
    const LEN: usize = 16;

    /// The head of a call that comes after one with a checksum.
    fn of(call: &[u8], before: u64) -> Head {
        let len = u32::try_from(call.len()).expect("parts of calls are short");
        Head { len, sum: xxh3_64_with_seed(call, before) }
    }

    /// The length, the checksum, and a checksum of both: a length that is damaged is not
    /// believed.
    fn to_bytes(&self) -> [u8; Head::LEN] {
        let mut bytes = [0; Head::LEN];
        bytes[..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.sum.to_le_bytes());
        let check = xxh3_64(&bytes[..12]) as u32;
        bytes[12..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Nothing if a bit of them is not as it was.
    fn from_bytes(bytes: &[u8; Head::LEN]) -> Option<Head> {
        let (len, sum) = (bytes[..4].try_into().ok()?, bytes[4..12].try_into().ok()?);
        let head = Head { len: u32::from_le_bytes(len), sum: u64::from_le_bytes(sum) };
        (head.to_bytes() == *bytes).then_some(head)
    }
}

/// What a function returned.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Outcome {
    /// The number of an error, or zero.
    Errno(u16),
    /// The program ended with a code.
    Exit(i32),
    /// It ended since nobody read what it wrote.
    BrokenPipe,
    /// It ended otherwise.
    Ended,
}

/// Whether calls are recorded, or get what was recorded.
#[derive(Default)]
pub(crate) enum Tape {
    #[default]
    None,
    Records(Recorder),
    Replays(Box<Player>),
}

impl Tape {
    pub(crate) fn records(&self) -> bool {
        matches!(self, Tape::Records(_))
    }
}

/// How many bytes of calls are kept at most.
const KEPT: usize = 32 << 10;

/// How many bytes that were written into memory a part of a call has at most.
const PART: usize = 1 << 20;

/// Writes a recording.
pub(crate) struct Recorder {
    output: Box<dyn Write + Send>,
    /// Calls that are not written yet, encoded.
    kept: Vec<u8>,
    /// The checksum of the last call.
    sum: u64,
    /// Why nothing is written any more.
    failure: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn new(mut output: Box<dyn Write + Send>) -> io::Result<Recorder> {
        output.write_all(MAGIC)?;
        Ok(Recorder { output, kept: Vec::new(), sum: 0, failure: None })
    }

    /// Records a call that has ended, and has written into these parts of memory.
    pub(crate) fn record<const N: usize>(
        &mut self,
        called: &Called<N>,
        outcome: &Result,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) {
        let outcome = match outcome {
            Ok(()) => Outcome::Errno(0),
            Err(Failure::Errno(errno)) => Outcome::Errno(*errno as u16),
            Err(Failure::End(error)) => match error.downcast_ref::<I32Exit>() {
                Some(exit) => Outcome::Exit(exit.0),
                None if error.is::<BrokenPipe>() => Outcome::BrokenPipe,
                None => Outcome::Ended,
            },
            Err(Failure::Wait(_) | Failure::Again) => unreachable!("it has ended"),
        };
        self.keep_parts(called, Some(outcome), memory, written);
        let only_asks = ONLY_ASK.contains(&called.name) && matches!(outcome, Outcome::Errno(_));
        if !only_asks || self.kept.len() >= KEPT {
            self.write();
        }
    }

    /// Records what a call has written that has more to do.
    pub(crate) fn record_piece<const N: usize>(
        &mut self,
        called: &Called<N>,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) {
        if !written.is_empty() {
            self.keep_parts(called, None, memory, written);
        }
    }

    /// Keeps a call in parts, of which all but the last are written at once if they are long.
    fn keep_parts<const N: usize>(
        &mut self,
        called: &Called<N>,
        outcome: Option<Outcome>,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) {
        if self.failure.is_some() {
            return;
        }
        let mut parts = parts(merged(written)).into_iter().peekable();
        loop {
            let part = parts.next().unwrap_or_default();
            let is_last = parts.peek().is_none();
            let bytes = |range: Range<usize>| (range.start as u32, Cow::Borrowed(&memory[range]));
            self.keep(&Call {
                name: called.name.into(),
                arguments: Cow::Borrowed(&called.arguments),
                outcome: outcome.filter(|_| is_last),
                written: part.into_iter().map(bytes).collect(),
            });
            if is_last {
                return;
            }
            if self.kept.len() >= KEPT {
                self.write();
            }
        }
    }

    fn keep(&mut self, call: &Call<'_>) {
        let begin = self.kept.len();
        self.kept.extend([0; Head::LEN]);
        let kept = std::mem::take(&mut self.kept);
        self.kept = postcard::to_extend(call, kept).expect("vectors take all that they are given");
        let (head, call) = self.kept[begin..].split_at_mut(Head::LEN);
        let known = Head::of(call, self.sum);
        head.copy_from_slice(&known.to_bytes());
        self.sum = known.sum;
    }

    /// Writes what is kept. Nothing is written after what could not be.
    fn write(&mut self) {
        if self.failure.is_none() {
            self.failure = self.output.write_all(&self.kept).err();
        }
        self.kept.clear();
    }

    /// Writes what is kept; returns why the recording has ended too early, if it has.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write();
        match self.failure.take() {
            None => self.output.flush(),
            Some(failure) => Err(failure),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Nobody has asked for an error.
        self.write();
    }
}

/// Functions by which a program asks, and does nothing.
const ONLY_ASK: [&str; 7] = [
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "random_get",
];

/// The same bytes, in ranges that do not overlap.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Ranges in lists of at most [`PART`] bytes each.
fn parts(ranges: Vec<Range<usize>>) -> Vec<Vec<Range<usize>>> {
    let (mut parts, mut room) = (Vec::new(), 0);
    for mut range in ranges {
        while !range.is_empty() {
            if room == 0 {
                parts.push(Vec::new());
                room = PART;
            }
            let middle = range.end.min(range.start + room);
            room -= middle - range.start;
            let part: &mut Vec<_> = parts.last_mut().expect("one was added");
            part.push(range.start..middle);
            range.start = middle;
        }
    }
    parts
}

/// Reads a recording.
pub(crate) struct Player {
    input: BufReader<Box<dyn Read + Send>>,
    /// The checksum of the last call.
    sum: u64,
    /// How many calls have got what was recorded.
    calls: u64,
    /// The call that is replayed, encoded.
    buffer: Vec<u8>,
    /// Which descriptors of the program are its standard output and error.
    streams: BTreeMap<i32, i32>,
}

impl Player {
    pub(crate) fn new(input: Box<dyn Read + Send>) -> io::Result<Player> {
        let mut input = BufReader::new(input);
        let mut magic = [0; MAGIC.len()];
        let begins = input.read_exact(&mut magic);
        if begins.is_err() || magic != *MAGIC {
            return Err(io::Error::other(
                "this is not a recording made by this version of Ropewalk",
            ));
        }
        let streams = [(1, 1), (2, 2)].into();
        Ok(Player { input, sum: 0, calls: 0, buffer: Vec::new(), streams })
    }

    /// Gives a call what was recorded; what it writes to its standard output or error is
    /// returned with the stream.
    fn play<const N: usize>(
        &mut self,
        called: &Called<N>,
        guest: &mut Guest<'_>,
    ) -> Result<Option<(i32, usize)>> {
        let outcome = loop {
            if let Some(outcome) = self.play_part(called, guest)? {
                break outcome;
            }
        };
        self.calls += 1;
        match outcome {
            Outcome::Errno(0) => Ok(self.follow(called, guest)),
            Outcome::Errno(errno) => Err(Errno::from_number(errno).into()),
            Outcome::Exit(code) => Err(Failure::End(I32Exit(code).into())),
            Outcome::BrokenPipe => Err(Failure::End(BrokenPipe.into())),
            Outcome::Ended => Err(Failure::End(Error::msg(
                "the program was ended in this call when it was recorded",
            ))),
        }
    }

    /// Stores a part of what a call wrote; returns what the function returned after the last.
    fn play_part<const N: usize>(
        &mut self,
        called: &Called<N>,
        guest: &mut Guest<'_>,
    ) -> Result<Option<Outcome>> {
        self.read()?;
        let number = self.calls + 1;
        let differs = |what: String| {
            let text = format!("the program does not do what was recorded: call {number} {what}");
            Failure::End(Error::msg(text))
        };
        let call: Call<'_> =
            postcard::from_bytes(&self.buffer).map_err(|_| Failure::End(damaged(self.calls)))?;
        if call.name != called.name || *call.arguments != called.arguments {
            let recorded = describe(&call.name, &call.arguments);
            let found = describe(called.name, &called.arguments);
            return Err(differs(format!("was {recorded}, and is {found}")));
        }
        for (at, bytes) in &call.written {
            let range = guest.range(*at as i32, bytes.len());
            let range = range.map_err(|_| differs("wrote outside of memory".into()))?;
            guest.get_mut(range).copy_from_slice(bytes);
        }
        Ok(call.outcome)
    }

    /// Reads the next call, or the next part of one.
    fn read(&mut self) -> Result {
        let mut head = [0; Head::LEN];
        let end = Failure::End(Error::msg(format!(
            "the recording ends here, after {} calls of the host",
            self.calls
        )));
        if self.input.read_exact(&mut head).is_err() {
            return Err(end);
        }
        let head = Head::from_bytes(&head).ok_or_else(|| Failure::End(damaged(self.calls)))?;
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

    /// Whether no call comes any more.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.input.fill_buf().map_or(true, <[u8]>::is_empty)
    }

    /// Knows where the standard output and error are after a call that succeeded, and how
    /// much of which one it wrote.
    fn follow<const N: usize>(
        &mut self,
        called: &Called<N>,
        guest: &Guest<'_>,
    ) -> Option<(i32, usize)> {
        let argument = |i: usize| called.arguments[i] as i32;
        match called.name {
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
                return Some((stream, crate::guest::word(guest.get(written), 0) as usize));
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

/// Gives a call what was recorded, if a recording is replayed.
pub(crate) fn replay<const N: usize>(
    ctx: &mut WasiCtx,
    called: &Called<N>,
    guest: &mut Guest<'_>,
) -> Option<Result> {
    let Tape::Replays(player) = &mut ctx.tape else { return None };
    let played = player.play(called, guest).map(|written| {
        if let Some((stream, len)) = written {
            write_again(ctx, called, guest, stream, len);
        }
    });
    Some(played)
}

/// Writes what a program writes to one of its standard streams. Whether anybody reads it
/// is nothing to the program.
fn write_again<const N: usize>(
    ctx: &WasiCtx,
    called: &Called<N>,
    guest: &Guest<'_>,
    stream: i32,
    mut len: usize,
) {
    let (vectors, count) = (called.arguments[1] as i32, called.arguments[2] as i32);
    let Ok(buffers) = guest.buffers(vectors, count) else { return };
    for buffer in buffers {
        let mut bytes = guest.get(buffer);
        bytes = &bytes[..bytes.len().min(len)];
        len -= bytes.len();
        while !bytes.is_empty() {
            let slices = [io::IoSlice::new(bytes)];
            let written = ctx.table.get(stream).and_then(|stream| stream.write(&slices, false));
            match written {
                Ok(written) => bytes = &bytes[written..],
                Err(Failure::Wait(wait)) if wait.block().is_ok() => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        assert_eq!(merged(vec![8..12, 0..4, 4..6, 9..10, 20..20, 11..14]), [0..6, 8..14]);
        assert_eq!(merged(Vec::new()), []);
    }

    #[test]
    fn what_is_long_is_recorded_in_parts() {
        assert_eq!(parts(Vec::new()), [[]; 0]);
        assert_eq!(parts(vec![0..4, 6..8]), [[0..4, 6..8]]);
        let long = parts(vec![0..4, 8..2 * PART, 3 * PART..3 * PART + 1]);
        assert_eq!(
            long,
            [vec![0..4, 8..PART + 4], vec![PART + 4..2 * PART, 3 * PART..3 * PART + 1]]
        );
    }
}
