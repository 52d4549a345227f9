//! Where a program spends its time.

use crate::store::Store;
use anyhow::{Context, Result, ensure};
use ropewalk_runtime::Profile;
use std::time::Duration;

impl<T> Store<T> {
    /// Notes where WebAssembly is, at each such time from now on, until
    /// [`take_profile`](Self::take_profile). Fails without
    /// [`Config::interruption`](crate::Config::interruption): functions are sampled at the
    /// places where they could be interrupted, loops and calls.
    ///
    /// A sample has the functions of the running stack and of all that wait for it, across
    /// designs and calls of the host. Time in the host is not sampled.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::time::Duration;
    ///
    /// let engine = Engine::new(Config::new().interruption(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module $m
    ///       (func $spin (param $n i32)
    ///         (loop $l
    ///           (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    ///       (func (export "run") (call $spin (i32.const 100_000_000))))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// store.start_profile(Duration::from_millis(1))?;
    /// run.call(&mut store, ())?;
    /// let profile = store.take_profile()?;
    /// assert!(profile.to_folded().starts_with("m!run;m!spin "));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn start_profile(&mut self, interval: Duration) -> Result<()> {
        ensure!(
            self.engine().config().interruption,
            "a profile is taken where functions can be interrupted, and the engine was made \
             without Config::interruption"
        );
        ensure!(!interval.is_zero(), "the time between two samples must be more than zero");
        self.inner.runtime.set_profile(Some(interval)).context("there is no timer")
    }

    /// What was sampled since [`start_profile`](Self::start_profile). Nothing more is.
    pub fn take_profile(&mut self) -> Result<Profile> {
        let profile = self.inner.runtime.take_profile().context("there is no timer")?;
        profile.context("no profile was started in this store")
    }
}
