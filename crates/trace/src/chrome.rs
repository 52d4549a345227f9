//! Writes JSON for the trace viewers of Chrome and Perfetto.
//!
//! Each stack is a thread of one process, with a slice for each of its runs. A switch is a flow
//! between two slices, with its tag as argument. Every other event is an instant.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Event, EventKind, Run, StackId, Timeline, Trace};

/// The only process.
const PROCESS: u32 = 1;

impl Trace {
    /// Writes the trace as JSON for the viewers of Chrome and [Perfetto](https://ui.perfetto.dev).
    pub fn write_chrome(&self, to: impl Write) -> io::Result<()> {
        let timeline = Timeline::of(self);
        let mut output = Output { to: io::BufWriter::new(to), is_first: true };
        output.begin()?;
        self.chrome_names(&timeline, &mut output)?;
        for run in &timeline.runs {
            self.chrome_run(run, &mut output)?;
        }
        for (index, event) in self.events.iter().enumerate() {
            self.chrome_event(&timeline, index, event, &mut output)?;
        }
        output.end(&self.name, self.dropped)
    }

    fn chrome_names(&self, timeline: &Timeline, output: &mut Output<impl Write>) -> io::Result<()> {
        output.meta("process_name", 0, json!({ "name": self.name }))?;
        for (id, stack) in (0..).zip(&self.stacks) {
            let name =
                format!("{} ({})", timeline.stack_name(self, StackId(id)), stack.design.name());
            output.meta("thread_name", id, json!({ "name": name }))?;
            output.meta("thread_sort_index", id, json!({ "sort_index": id }))?;
        }
        Ok(())
    }

    fn chrome_run(&self, run: &Run, output: &mut Output<impl Write>) -> io::Result<()> {
        let (begin, end) = (self.time_of(run.begin), self.time_of(run.end));
        let last = self.events.get(run.end).filter(|event| event.stack == run.stack);
        let stack = &self.stacks[run.stack.index()];
        let mut args = Map::new();
        if let Some(place) = last.and_then(|event| self.place(event.frames)) {
            args.insert("until".into(), place.into());
        }
        output.record(&Record {
            ph: "X",
            name: run.function.map_or("?", |function| self.function_name(function)),
            cat: stack.design.name(),
            dur: Some(microseconds(end.saturating_sub(begin))),
            args,
            ..Record::at(begin, run.stack)
        })
    }

    fn chrome_event(
        &self,
        timeline: &Timeline,
        index: usize,
        event: &Event,
        output: &mut Output<impl Write>,
    ) -> io::Result<()> {
        let what = &event.what;
        let tag = what.tag().map(|tag| self.tag_name(tag));
        let record = Record {
            name: tag.unwrap_or(what.word()),
            cat: what.word(),
            args: self.chrome_arguments(timeline, event),
            ..Record::at(event.time, event.stack)
        };
        if let (true, Some(target)) = (what.is_switch(), what.target()) {
            let id = Some(index);
            // A flow must begin before its slice ends.
            let begin = event.time.saturating_sub(1);
            output.record(&Record { ph: "s", id, ts: microseconds(begin), ..record.clone() })?;
            let args = Map::new();
            return output.record(&Record {
                ph: "f",
                bp: Some("e"),
                id,
                tid: target.0,
                args,
                ..record
            });
        }
        match what {
            EventKind::HostCall { function } => {
                let name = self.function_name(*function);
                output.record(&Record { ph: "B", name, ..record })
            }
            EventKind::HostReturn => output.record(&Record { ph: "E", ..record }),
            _ => output.record(&Record { ph: "i", s: Some("t"), ..record }),
        }
    }

    /// The arguments of an event: its values, tag, message and place.
    fn chrome_arguments(&self, timeline: &Timeline, event: &Event) -> Map<String, Value> {
        let mut args = Map::new();
        let mut insert = |name: &str, value: Value| drop(args.insert(name.to_owned(), value));
        if let Some(tag) = event.what.tag() {
            insert("tag", self.tag_name(tag).into());
        }
        if !event.what.values().is_empty() {
            insert("values", event.what.values().into());
        }
        if let Some(target) = event.what.target() {
            insert("stack", timeline.stack_name(self, target).into());
        }
        if let Some(origin) = event.what.origin() {
            insert("copy of", timeline.stack_name(self, origin).into());
        }
        if let Some(place) = self.place(event.frames) {
            insert("at", place.into());
        }
        match &event.what {
            EventKind::Trap { message } => insert("message", message.as_str().into()),
            EventKind::Grow { bytes } => insert("bytes", (*bytes).into()),
            EventKind::Collect { nanoseconds, stacks_freed } => {
                insert("nanoseconds", (*nanoseconds).into());
                insert("stacks_freed", (*stacks_freed).into());
            }
            _ => {}
        }
        args
    }

    /// The time of an event, or of the end of the trace.
    fn time_of(&self, event: usize) -> u64 {
        self.events.get(event).map_or_else(|| self.duration(), |event| event.time)
    }
}

/// An entry of `traceEvents`, with the field names of the format.
#[derive(Clone, Default, Serialize)]
struct Record<'a> {
    ph: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    pid: u32,
    tid: u32,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

impl Record<'_> {
    fn at(time: u64, stack: StackId) -> Self {
        Record { pid: PROCESS, tid: stack.0, ts: microseconds(time), ..Record::default() }
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Writes the JSON entry by entry.
struct Output<W> {
    to: W,
    is_first: bool,
}

impl<W: Write> Output<W> {
    fn begin(&mut self) -> io::Result<()> {
        write!(self.to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")
    }

    fn meta(&mut self, name: &str, tid: u32, args: Value) -> io::Result<()> {
        self.entry(&json!({ "ph": "M", "name": name, "pid": PROCESS, "tid": tid, "args": args }))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.entry(record)
    }

    fn entry(&mut self, entry: &impl Serialize) -> io::Result<()> {
        self.to.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        Ok(serde_json::to_writer(&mut self.to, entry)?)
    }

    fn end(mut self, name: &str, dropped: u64) -> io::Result<()> {
        let other = json!({ "program": name, "events dropped": dropped });
        writeln!(self.to, "\n],\"otherData\":{other}}}")?;
        self.to.flush()
    }
}
