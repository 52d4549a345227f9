//! A trace that is written while the program runs.
//!
//! ```text
//!   store's thread                                 thread that writes
//!   event -> part -- when it is full, or after --> numbers get names -> file
//!              ^      some time                         |
//!              +------------ empty ones --------------- +
//! ```
//!
//! There are only so many parts. If all are on their way, the file is behind: then the program
//! waits for it, or the events of the next part are dropped and counted, as was asked for.

use super::Recorder;
use super::event::{Kind, Raw};
use super::finish::{Known, event};
use crate::embedder::discard;
use crate::store::Store;
use ropewalk_trace::{Event, FunctionId, Trace, Writer};
use std::fmt;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// What happens when the file is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBehind {
    /// The program waits, and the trace has everything.
    Wait,
    /// Events are dropped, and the trace says how many.
    Drop,
}

/// How many events a part has.
const PART: usize = 4096;
/// How many parts there are at most.
const PARTS: usize = 64;
/// For how many nanoseconds events are kept back until the next one.
const LATEST: u64 = 50_000_000;
/// The same before the host is called, or WebAssembly is left, which can take long.
const LATEST_BEFORE_WAITING: u64 = 1_000_000;

/// What is handed over.
struct Part {
    /// What is new in the tables.
    tables: Trace,
    host_functions: Vec<FunctionId>,
    messages: Vec<String>,
    events: Vec<Raw>,
}

/// The end that the store has.
pub(super) struct Stream {
    /// Events that have not been handed over.
    pub events: Vec<Raw>,
    /// When the last ones were.
    handed_over: u64,
    when_behind: WhenBehind,
    dropped: u64,
    known: Known,
    /// How many functions of the host and messages were handed over.
    host_functions: usize,
    messages: usize,
    parts: Option<SyncSender<Part>>,
    empty: Receiver<Vec<Raw>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

impl Stream {
    pub fn new(
        to: impl Write + Send + 'static,
        name: &str,
        when_behind: WhenBehind,
    ) -> io::Result<Stream> {
        let writer = Writer::new(to, name)?;
        let (parts, received) = sync_channel(PARTS);
        let (give_back, empty) = sync_channel(PARTS);
        let thread = std::thread::Builder::new()
            .name("trace".to_string())
            .spawn(move || write(writer, &received, &give_back))?;
        Ok(Stream {
            events: Vec::with_capacity(PART),
            handed_over: 0,
            when_behind,
            dropped: 0,
            known: Known::default(),
            host_functions: 0,
            messages: 0,
            parts: Some(parts),
            empty,
            thread: Some(thread),
        })
    }

    /// Whether what was recorded is to be handed over now, after an event.
    pub fn is_due(&self, last: &Raw) -> bool {
        let latest = match last.kind {
            Kind::HostCall | Kind::Leave | Kind::Trap => LATEST_BEFORE_WAITING,
            _ => LATEST,
        };
        self.events.len() >= PART || last.time.saturating_sub(self.handed_over) >= latest
    }

    /// Hands over what was recorded.
    fn hand_over(&mut self, recorder: &Recorder, store: &Store, time: u64) {
        self.handed_over = time;
        let tables = recorder.tables(store, &mut self.known);
        let host_functions = self.known.host_functions[self.host_functions..].to_vec();
        let messages = recorder.messages[self.messages..].to_vec();
        self.host_functions += host_functions.len();
        self.messages += messages.len();
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(PART));
        let events = std::mem::replace(&mut self.events, next);
        self.send(Part { tables, host_functions, messages, events });
    }

    fn send(&mut self, part: Part) {
        let Some(parts) = &self.parts else { return };
        // Where nobody receives any more, writing has failed, and the end says why.
        if let Err(TrySendError::Full(mut part)) = parts.try_send(part) {
            if self.is_written_here() {
                // Nobody else makes room, so the file ends before this part.
                self.parts = None;
                return;
            }
            if self.when_behind == WhenBehind::Drop {
                // The tables are small, and what comes later refers to them.
                self.dropped += part.events.len() as u64;
                part.events.clear();
            }
            let _ = parts.send(part);
        }
    }

    /// Whether this thread is the one that writes: the embedder writes to the file, and uses the
    /// store there.
    fn is_written_here(&self) -> bool {
        let here = std::thread::current().id();
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == here)
    }

    /// Ends the file; returns how many events were dropped. The thread that writes cannot wait for
    /// itself.
    fn finish(&mut self) -> io::Result<u64> {
        let dropped = self.dropped;
        self.send(Part {
            tables: Trace { dropped, ..Trace::default() },
            host_functions: Vec::new(),
            messages: Vec::new(),
            events: Vec::new(),
        });
        self.parts = None;
        if self.is_written_here() {
            self.thread = None;
            return Err(io::Error::other("the thread that writes the trace cannot end it"));
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written.map(|()| dropped),
            Some(Err(panic)) => {
                discard(panic);
                Err(io::Error::other("the thread that writes has panicked"))
            }
            None => Ok(dropped),
        }
    }
}

/// Writes what is handed over, until nothing more is.
fn write(
    mut writer: Writer<impl Write>,
    parts: &Receiver<Part>,
    give_back: &SyncSender<Vec<Raw>>,
) -> io::Result<()> {
    let (mut host_functions, mut messages) = (Vec::new(), Vec::new());
    let mut dropped = 0;
    while let Ok(mut part) = parts.recv() {
        host_functions.append(&mut part.host_functions);
        messages.append(&mut part.messages);
        dropped = dropped.max(part.tables.dropped);
        let events = part.events.iter().map(|raw| event(raw, &host_functions, &messages));
        let events: Vec<Event> = events.collect();
        writer.append(&Trace { events, ..part.tables })?;
        writer.flush()?;
        part.events.clear();
        let _ = give_back.try_send(part.events);
    }
    writer.finish(dropped)
}

impl Recorder {
    /// Hands over what was recorded, if it is streamed.
    pub(super) fn hand_over(&mut self, store: &Store) {
        if let Some(mut stream) = self.stream.take() {
            stream.hand_over(self, store, self.now());
            self.stream = Some(stream);
        }
    }
}

impl Recorder {
    /// Ends what is streamed with what was recorded so far.
    pub(super) fn end_stream(&mut self, store: &Store) {
        self.hand_over(store);
        self.stream = None;
    }
}

impl Store {
    /// Streams what is recorded from now on.
    pub fn stream_trace(
        &mut self,
        to: impl Write + Send + 'static,
        name: &str,
        when_behind: WhenBehind,
    ) -> io::Result<()> {
        let stream = Stream::new(to, name, when_behind)?;
        if let Some(recorder) = self.observers.recorder.get_mut::<Recorder>() {
            recorder.stream = Some(Box::new(stream));
        }
        Ok(())
    }

    /// Ends what is streamed; returns how many events were dropped. None if nothing is.
    pub fn finish_trace(&mut self) -> Option<io::Result<u64>> {
        self.record_what_was_noted()?;
        let mut recorder = self.observers.recorder.take::<Recorder>()?;
        recorder.hand_over(self);
        let stream = recorder.stream.take();
        self.observers.recorder.set(Some(recorder));
        stream.map(|mut stream| stream.finish())
    }
}

impl Drop for Stream {
    /// Another stream takes its place, or nothing more is to be written: the file ends with what
    /// was handed over.
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.finish();
        }
    }
}
