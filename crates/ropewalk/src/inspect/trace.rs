//! Traces of stacks: recorded, streamed to a file, or passed to a listener.

use crate::store::Store;
use anyhow::{Context as _, Result, ensure};
use ropewalk_runtime::StackList;
use ropewalk_runtime::embedder::Foreign;
use ropewalk_runtime::observe::trace::WhenBehind;
use ropewalk_trace::{Event, Trace};
use std::io::{BufWriter, Write};

impl<T> Store<T> {
    /// Takes the events since the last time, in a store of an engine that
    /// [traces](crate::Config::trace). Stacks, tags and frames have the same numbers in all traces
    /// of a store.
    ///
    /// ```
    /// use ropewalk::traces::EventKind;
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().trace(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (type $f (func (result i32))) (type $c (cont $f))
    ///       (func $body (result i32) (i32.const 7))
    ///       (elem declare func $body)
    ///       (func (export "run") (result i32) (resume $c (cont.new $c (ref.func $body)))))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// instance.get_typed_func::<(), i32>(&mut store, "run")?.call(&mut store, ())?;
    /// let trace = store.take_trace()?;
    /// let events: Vec<_> = trace.events.into_iter().map(|event| event.what).collect();
    /// assert!(matches!(
    ///     &events[..],
    ///     [EventKind::Enter, EventKind::Create { .. }, EventKind::Resume { .. },
    ///      EventKind::Return { values, .. }, EventKind::Leave] if values == "7"
    /// ));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_trace(&mut self) -> Result<Trace> {
        self.check_traced()?;
        Ok(self.inner.runtime.take_trace().expect("it is recorded"))
    }

    /// Limits how many events are kept until they are taken. The default is 1,048,576, of 64 bytes
    /// each. Beyond the limit the oldest events are dropped, and the trace says how many.
    pub fn set_trace_limit(&mut self, events: usize) -> Result<()> {
        self.check_traced()?;
        self.inner.runtime.set_trace_limit(events);
        Ok(())
    }

    /// Sets the listener, which gets each event when it happens. It replaces the previous listener.
    /// An event has the same numbers as in the [trace](Self::take_trace).
    ///
    /// The listener runs in the middle of a switch and cannot use the store. If it panics, it gets
    /// no more events, and the panic continues where WebAssembly was called.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    ///
    /// let engine = Engine::new(Config::new().trace(true))?;
    /// let mut store = Store::new(&engine, ());
    /// let count = Arc::new(AtomicU32::new(0));
    /// let counter = count.clone();
    /// store.on_stack_event(move |_| {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// Func::wrap(&mut store, || {}).call(&mut store, &[], &mut [])?;
    /// // The activation, and the call of the host in it.
    /// assert_eq!(count.load(Ordering::Relaxed), 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn on_stack_event(
        &mut self,
        listener: impl FnMut(&Event) + Send + Sync + 'static,
    ) -> Result<()> {
        self.check_traced()?;
        self.inner.runtime.set_listener(Some(Foreign::new(Box::new(listener))));
        Ok(())
    }

    /// Streams events to a file, or any other writer, from another thread while the program runs.
    /// Nothing is kept for [`take_trace`](Self::take_trace), and there is no limit.
    /// [`finish_trace`](Self::finish_trace) ends the file. If the process was killed, the file can
    /// be read too, except for the last moment.
    ///
    /// The file has names and source positions, for `ropewalk trace`. `name` is the name of the
    /// program. If the writer is a quarter of a million events behind, the program waits for it, or
    /// events are dropped.
    ///
    /// ```
    /// use ropewalk::traces::Trace;
    /// use ropewalk::*;
    ///
    /// let path = std::env::temp_dir().join(format!("streamed-{}.rwtrace", std::process::id()));
    /// let engine = Engine::new(Config::new().trace(true))?;
    /// let mut store = Store::new(&engine, ());
    /// store.stream_trace(std::fs::File::create(&path)?, "example", WhenBehind::Wait)?;
    /// Func::wrap(&mut store, || {}).call(&mut store, &[], &mut [])?;
    /// assert_eq!(store.finish_trace()?, 0);
    /// let reading = Trace::read(&std::fs::read(&path)?)?;
    /// std::fs::remove_file(&path)?;
    /// assert!(reading.is_whole);
    /// assert_eq!(reading.trace.events.len(), 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stream_trace(
        &mut self,
        to: impl Write + Send + 'static,
        name: &str,
        when_behind: WhenBehind,
    ) -> Result<()> {
        self.check_traced()?;
        Ok(self.inner.runtime.stream_trace(BufWriter::new(to), name, when_behind)?)
    }

    /// Ends [streaming](Self::stream_trace). Returns how many events were dropped. Fails if writing
    /// has failed, if nothing is streamed, or if the writer itself calls this. Dropping the store
    /// does the same.
    pub fn finish_trace(&mut self) -> Result<u64> {
        self.check_traced()?;
        let finished = self.inner.runtime.finish_trace();
        Ok(finished.context("no trace is streamed: use `stream_trace`")??)
    }

    /// Calls a function after the event of this number, counted from 1 from now on, with a list of
    /// all stacks. If the engine caused that event itself, by dropping, parking, unparking or
    /// growing a stack, it calls the function after the next event. If a program gets the same
    /// inputs from its host, every run has the same stacks there. A
    /// [streamed](Self::stream_trace) trace ends with that event.
    ///
    /// The function runs in the middle of a switch and cannot use the store. If it panics, the panic
    /// continues where WebAssembly was called.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().trace(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module $m
    ///       (type $f (func)) (type $c (cont $f))
    ///       (func $body (nop))
    ///       (elem declare func $body)
    ///       (func (export "run") (resume $c (cont.new $c (ref.func $body)))))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// // The first two events are that the host calls, and that a stack is made.
    /// store.at_stack_event(3, |stacks| {
    ///     let stacks = stacks.unwrap().to_string();
    ///     assert!(stacks.contains("root, waiting") && stacks.contains("continuation, running"));
    /// })?;
    /// instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn at_stack_event(
        &mut self,
        number: u64,
        then: impl FnOnce(Result<StackList>) + Send + Sync + 'static,
    ) -> Result<()> {
        self.check_traced()?;
        ensure!(number > 0, "events are numbered from 1, found 0");
        self.inner.runtime.at_event(number - 1, Foreign::new(Box::new(then)));
        Ok(())
    }

    fn check_traced(&self) -> Result<()> {
        ensure!(
            self.inner.runtime.is_traced(),
            "this engine records no traces: set `Config::trace`"
        );
        Ok(())
    }
}
