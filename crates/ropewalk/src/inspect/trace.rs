//! What the stacks of a store have done.

use crate::store::Store;
use anyhow::{Context as _, Result, ensure};
use ropewalk_runtime::StackList;
use ropewalk_runtime::embedder::Foreign;
use ropewalk_runtime::observe::trace::WhenBehind;
use ropewalk_trace::{Event, Trace};
use std::io::{BufWriter, Write};

impl<T> Store<T> {
    /// What was recorded since the last time, in a store of an engine that
    /// [traces](crate::Config::trace). Stacks, tags and frames have the same numbers in all
    /// traces of a store.
    ///
    /// ```
    /// use ropewalk::traces::What;
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
    ///     [What::Enter, What::Create { .. }, What::Resume { .. }, What::Return { values, .. },
    ///      What::Leave] if values == "7"
    /// ));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn take_trace(&mut self) -> Result<Trace> {
        self.check_traced()?;
        Ok(self.inner.runtime.take_trace().expect("it is recorded"))
    }

    /// How many events are kept until they are taken: 1,048,576 if nothing is said, of 64
    /// bytes each. When there are more, the oldest are dropped, and the trace says how many.
    pub fn set_trace_limit(&mut self, events: usize) -> Result<()> {
        self.check_traced()?;
        self.inner.runtime.set_trace_limit(events);
        Ok(())
    }

    /// Has a function be told of each event when it happens, and nobody before it any more.
    /// The numbers in an event are those that it has in the [trace](Self::take_trace).
    ///
    /// The function runs in the middle of a switch and cannot use the store. If it panics, it
    /// is told of nothing more, and the panic continues where WebAssembly was called.
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

    /// Writes what is recorded from now on to a file or anything like it, while the program runs,
    /// from another thread. Nothing is kept for [`take_trace`](Self::take_trace) then, and there is
    /// no limit. [`finish_trace`](Self::finish_trace) ends the file; one without an end, because the
    /// process was killed, can be read up to there, but for what happened in the last moment.
    ///
    /// What is written has names and places, as `ropewalk trace` reads it. The name is that of
    /// the program. If the file is behind by a quarter of a million events, the program waits for
    /// it, or events are dropped.
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

    /// Ends what is [streamed](Self::stream_trace); returns how many events were dropped. Fails if
    /// it could not be written, if nothing is streamed, and where it is called by what writes the
    /// trace. A store that is dropped does the same.
    pub fn finish_trace(&mut self) -> Result<u64> {
        self.check_traced()?;
        let finished = self.inner.runtime.finish_trace();
        Ok(finished.context("no trace is streamed")??)
    }

    /// Has a function be called at the event of a number, which counts from 1 and from now on,
    /// with a list of all stacks as they are after it; or after the next one, if it is something
    /// that the engine did by itself: that a stack was dropped, parked, unparked, or grew. Every
    /// run of a program that gets the same from its host has the same stacks there. What is
    /// [streamed](Self::stream_trace) ends with the event after which the function is called.
    ///
    /// The function runs in the middle of a switch, and cannot use the store. If it panics, that
    /// panic continues where WebAssembly was called.
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
        ensure!(number > 0, "events are counted from 1");
        self.inner.runtime.at_event(number - 1, Foreign::new(Box::new(then)));
        Ok(())
    }

    fn check_traced(&self) -> Result<()> {
        ensure!(
            self.inner.runtime.is_traced(),
            "nothing is recorded in this store: its engine was made without Config::trace"
        );
        Ok(())
    }
}
