//! What the stacks of a store have done.

use crate::store::Store;
use anyhow::{Result, ensure};
use ropewalk_trace::{Event, Trace};

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
        self.inner.runtime.set_listener(Some(Box::new(listener)));
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
