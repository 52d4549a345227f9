//! Writing a trace while the program runs.
//!
//! ```text
//!   store's thread                                   thread that writes
//!   event -> batch -- when full, or after a while --> numbers get names -> file
//!              ^                                            |
//!              +--------------- empty ones -----------------+
//! ```
//!
//! The number of batches is limited. If all are in use, the program waits or drops events.

use super::Recorder;
use super::event::{EventKind, RawEvent};
use super::export::{WrittenTables, event};
use crate::embedder::discard;
use crate::store::Store;
use ropewalk_trace::{Event, FunctionId, Trace, Writer};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// What happens when writing is slower than the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBehind {
    /// The program waits, and the trace is complete.
    Wait,
    /// Events are dropped, and the trace counts them.
    Drop,
}

const BATCH: usize = 4096;
/// The number of batches.
const BATCHES: usize = 64;
/// The longest time in nanoseconds before events are handed over.
const LATEST: u64 = 50_000_000;
/// The same before a call of the host or the end of an activation, which may take long.
const LATEST_BEFORE_WAITING: u64 = 1_000_000;

/// Data for the thread that writes.
struct Batch {
    /// The new entries of the tables.
    tables: Trace,
    host_functions: Vec<FunctionId>,
    messages: Vec<String>,
    events: Vec<RawEvent>,
}

/// The store's end of the stream.
pub(super) struct Stream {
    /// The events of the next batch.
    pub events: Vec<RawEvent>,
    /// The time of the last batch.
    handed_over: u64,
    when_behind: WhenBehind,
    dropped: u64,
    known: WrittenTables,
    /// How many host functions and messages were handed over.
    host_functions: usize,
    messages: usize,
    batches: Option<SyncSender<Batch>>,
    empty: Receiver<Vec<RawEvent>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Stream {
    pub fn new(
        to: impl Write + Send + 'static,
        name: &str,
        when_behind: WhenBehind,
    ) -> io::Result<Stream> {
        let writer = Writer::new(to, name)?;
        let (batches, received) = sync_channel(BATCHES);
        let (give_back, empty) = sync_channel(BATCHES);
        let thread = std::thread::Builder::new()
            .name("trace".to_string())
            .spawn(move || write(writer, &received, &give_back))?;
        Ok(Stream {
            events: Vec::with_capacity(BATCH),
            handed_over: 0,
            when_behind,
            dropped: 0,
            known: WrittenTables::default(),
            host_functions: 0,
            messages: 0,
            batches: Some(batches),
            empty,
            thread: Some(thread),
        })
    }

    /// Whether the events should be handed over now.
    pub fn is_due(&self, last: &RawEvent) -> bool {
        let latest = match last.kind {
            EventKind::HostCall | EventKind::Leave | EventKind::Trap => LATEST_BEFORE_WAITING,
            _ => LATEST,
        };
        self.events.len() >= BATCH || last.time.saturating_sub(self.handed_over) >= latest
    }

    fn hand_over(&mut self, recorder: &Recorder, store: &Store, time: u64) {
        self.handed_over = time;
        let tables = recorder.tables(store, &mut self.known);
        let host_functions = self.known.host_functions[self.host_functions..].to_vec();
        let messages = recorder.messages[self.messages..].to_vec();
        self.host_functions += host_functions.len();
        self.messages += messages.len();
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let events = std::mem::replace(&mut self.events, next);
        self.send(Batch { tables, host_functions, messages, events });
    }

    fn send(&mut self, batch: Batch) {
        let Some(batches) = &self.batches else { return };
        // If the receiver is gone, writing has failed, and `finish` reports why.
        if let Err(TrySendError::Full(mut batch)) = batches.try_send(batch) {
            if self.is_written_here() {
                // No other thread can make room, so the file ends here.
                self.batches = None;
                return;
            }
            if self.when_behind == WhenBehind::Drop {
                // The tables are small, and later batches refer to them.
                self.dropped += batch.events.len() as u64;
                batch.events.clear();
            }
            let _ = batches.send(batch);
        }
    }

    /// Whether this is the thread that writes: the embedder's writer may use the store.
    fn is_written_here(&self) -> bool {
        let here = std::thread::current().id();
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == here)
    }

    /// Ends the file, except on the thread that writes; returns how many events were dropped.
    fn finish(&mut self) -> io::Result<u64> {
        let dropped = self.dropped;
        self.send(Batch {
            tables: Trace { dropped, ..Trace::default() },
            host_functions: Vec::new(),
            messages: Vec::new(),
            events: Vec::new(),
        });
        self.batches = None;
        if self.is_written_here() {
            self.thread = None;
            return Err(io::Error::other("the writer of a trace cannot finish the trace"));
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written.map(|()| dropped),
            Some(Err(panic)) => {
                discard(panic);
                Err(io::Error::other("the thread that writes the trace has panicked"))
            }
            None => Ok(dropped),
        }
    }
}

/// Writes batches until the store ends the stream.
fn write(
    mut writer: Writer<impl Write>,
    batches: &Receiver<Batch>,
    give_back: &SyncSender<Vec<RawEvent>>,
) -> io::Result<()> {
    let (mut host_functions, mut messages) = (Vec::new(), Vec::new());
    let mut dropped = 0;
    while let Ok(mut batch) = batches.recv() {
        host_functions.append(&mut batch.host_functions);
        messages.append(&mut batch.messages);
        dropped = dropped.max(batch.tables.dropped);
        let events = batch.events.iter().map(|raw| event(raw, &host_functions, &messages));
        let events: Vec<Event> = events.collect();
        writer.append(&Trace { events, ..batch.tables })?;
        writer.flush()?;
        batch.events.clear();
        let _ = give_back.try_send(batch.events);
    }
    writer.finish(dropped)
}

impl Recorder {
    /// Hands over the recorded events, if they are streamed.
    pub(super) fn hand_over(&mut self, store: &Store) {
        if let Some(mut stream) = self.stream.take() {
            stream.hand_over(self, store, self.now());
            self.stream = Some(stream);
        }
    }

    pub(super) fn end_stream(&mut self, store: &Store) {
        self.hand_over(store);
        self.stream = None;
    }
}

impl Store {
    /// Streams the events from now on.
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

    /// Ends the stream; returns how many events were dropped. None without a stream.
    pub fn finish_trace(&mut self) -> Option<io::Result<u64>> {
        self.record_pending_notes()?;
        let mut recorder = self.observers.recorder.take::<Recorder>()?;
        recorder.hand_over(self);
        let stream = recorder.stream.take();
        self.observers.recorder.set(Some(recorder));
        stream.map(|mut stream| stream.finish())
    }
}

impl Drop for Stream {
    /// The stream was replaced or the store dropped: the file ends with the last batch.
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.finish();
        }
    }
}
