//! Writes a recording.

use super::{CallId, Header, MAGIC, Outcome, RecordedCall};
use crate::exit::{BrokenPipe, I32Exit};
use crate::failure::{Failure, Result};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

/// The maximum number of bytes that are buffered.
const MAX_BUFFERED: usize = 32 << 10;

/// The maximum number of bytes of memory in a part.
const MAX_PART: usize = 1 << 20;

pub(crate) struct Recorder {
    output: Box<dyn Write + Send>,
    /// Encoded calls that have not been written yet.
    buffered: Vec<u8>,
    /// The checksum of the last part.
    sum: u64,
    /// The error that ended the recording.
    failure: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn new(mut output: Box<dyn Write + Send>) -> io::Result<Recorder> {
        output.write_all(MAGIC)?;
        Ok(Recorder { output, buffered: Vec::new(), sum: 0, failure: None })
    }

    /// Records a call that has ended, with the ranges of memory that it has written.
    pub(crate) fn record<const N: usize>(
        &mut self,
        id: &CallId<N>,
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
            Err(Failure::Wait(_) | Failure::Again) => unreachable!("the call has ended"),
        };
        self.buffer_parts(id, Some(outcome), memory, written);
        let is_query = QUERIES.contains(&id.name) && matches!(outcome, Outcome::Errno(_));
        if !is_query || self.buffered.len() >= MAX_BUFFERED {
            self.write();
        }
    }

    /// Records the ranges that a call has written, which has more to do.
    pub(crate) fn record_chunk<const N: usize>(
        &mut self,
        id: &CallId<N>,
        memory: &[u8],
        written: Vec<Range<usize>>,
    ) {
        if !written.is_empty() {
            self.buffer_parts(id, None, memory, written);
        }
    }

    /// Buffers a call in parts. All but the last part are written immediately if they are long.
    fn buffer_parts<const N: usize>(
        &mut self,
        id: &CallId<N>,
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
            self.buffer(&RecordedCall {
                name: id.name.into(),
                arguments: Cow::Borrowed(&id.arguments),
                outcome: outcome.filter(|_| is_last),
                written: part.into_iter().map(bytes).collect(),
            });
            if is_last {
                return;
            }
            if self.buffered.len() >= MAX_BUFFERED {
                self.write();
            }
        }
    }

    fn buffer(&mut self, call: &RecordedCall<'_>) {
        let begin = self.buffered.len();
        self.buffered.extend([0; Header::LEN]);
        let buffer = std::mem::take(&mut self.buffered);
        self.buffered =
            postcard::to_extend(call, buffer).expect("writing to a vector does not fail");
        let (header, call) = self.buffered[begin..].split_at_mut(Header::LEN);
        let new = Header::new(call, self.sum);
        header.copy_from_slice(&new.to_bytes());
        self.sum = new.sum;
    }

    /// Writes the buffered calls, unless an earlier write has failed.
    fn write(&mut self) {
        if self.failure.is_none() {
            self.failure = self.output.write_all(&self.buffered).err();
        }
        self.buffered.clear();
    }

    /// Writes the buffered calls; returns the error that ended the recording, if any.
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
        // Errors are lost without `finish_recording`.
        self.write();
    }
}

/// Functions without side effects.
const QUERIES: [&str; 7] = [
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "random_get",
];

/// Sorts ranges, and merges those that overlap or touch.
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

/// Splits ranges into lists of at most [`MAX_PART`] bytes each.
fn parts(ranges: Vec<Range<usize>>) -> Vec<Vec<Range<usize>>> {
    let (mut parts, mut room) = (Vec::new(), 0);
    for mut range in ranges {
        while !range.is_empty() {
            if room == 0 {
                parts.push(Vec::new());
                room = MAX_PART;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        assert_eq!(merged(vec![8..12, 0..4, 4..6, 9..10, 20..20, 11..14]), [0..6, 8..14]);
        assert_eq!(merged(Vec::new()), []);
    }

    #[test]
    fn long_ranges_are_split_into_parts() {
        assert_eq!(parts(Vec::new()), [[]; 0]);
        assert_eq!(parts(vec![0..4, 6..8]), [[0..4, 6..8]]);
        let long = parts(vec![0..4, 8..2 * MAX_PART, 3 * MAX_PART..3 * MAX_PART + 1]);
        assert_eq!(
            long,
            [
                vec![0..4, 8..MAX_PART + 4],
                vec![MAX_PART + 4..2 * MAX_PART, 3 * MAX_PART..3 * MAX_PART + 1]
            ]
        );
    }
}
