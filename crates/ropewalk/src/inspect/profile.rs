//! Profiles of stores.

use crate::store::Store;
use anyhow::{Context, Result, ensure};
use ropewalk_runtime::Profile;
use std::time::Duration;

impl<T> Store<T> {
    /// Samples running functions at this interval, until [`take_profile`](Self::take_profile).
    /// Functions are sampled at safepoints, so this fails without
    /// [`Config::interruption`](crate::Config::interruption).
    ///
    /// A sample has the functions of the running stack and of all stacks that wait for it, across
    /// designs and host calls. Time in the host is not sampled.
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
            "profiles sample functions where they can be interrupted: set `Config::interruption`"
        );
        ensure!(!interval.is_zero(), "the interval between samples must be longer than zero");
        self.inner.runtime.set_profile(Some(interval)).context("there is no timer")
    }

    /// Ends sampling. Returns the samples since [`start_profile`](Self::start_profile).
    pub fn take_profile(&mut self) -> Result<Profile> {
        let profile = self.inner.runtime.take_profile().context("there is no timer")?;
        profile.context("no profile was started in this store: use `start_profile`")
    }
}
