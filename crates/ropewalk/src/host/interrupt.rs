//! Stopping what runs in a store.

use crate::host::caller::Caller;
use crate::store::{AsContext as _, AsContextMut, Store, StoreContext, StoreContextMut};
use anyhow::{Context, Result, ensure};
use ropewalk_runtime::embedder::Foreign;
use ropewalk_runtime::{Interrupts, OutOfFuel, Trap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interrupts the calls of a store, from any thread.
///
/// ```
/// use ropewalk::*;
/// use std::time::Duration;
///
/// # fn main() -> Result<()> {
/// let engine = Engine::new(Config::new().interruption(true))?;
/// let module = Module::new(&engine, r#"(func (export "run") (loop (br 0)))"#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
///
/// let handle = store.interrupt_handle()?;
/// let other = std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(10));
///     handle.interrupt();
/// });
/// let error = run.call(&mut store, ()).unwrap_err();
/// assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::Interrupt);
/// # other.join().unwrap();
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct InterruptHandle(Arc<Interrupts>);

impl InterruptHandle {
    /// Ends what runs in the store with the trap [`Interrupt`](crate::TrapCode::Interrupt),
    /// in all calls that are within each other; if nothing runs, a call that waits for a
    /// function of the host, or else the next call. A function of the host that runs is
    /// not interrupted, but what it returns to is; one that is waited for is dropped. The
    /// store can be used afterwards. Does nothing if the store is gone.
    pub fn interrupt(&self) {
        self.0.interrupt();
    }
}

impl<T> Store<T> {
    /// What interrupts the calls of this store from another thread. Fails without
    /// [`Config::interruption`](crate::Config::interruption).
    pub fn interrupt_handle(&self) -> Result<InterruptHandle> {
        check(self.engine().config().interruption)?;
        Ok(InterruptHandle(self.inner.runtime.interrupts().clone()))
    }

    /// Ends calls that run at this time, or begin later, with the trap
    /// [`Interrupt`](crate::TrapCode::Interrupt). None takes the last deadline back.
    /// Fails without [`Config::interruption`](crate::Config::interruption).
    ///
    /// Calls that wait for host functions then end too, and what they wait for is dropped.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> Result<()> {
        self.as_context_mut().set_deadline(deadline)
    }

    /// As [`set_deadline`](Self::set_deadline), so long from now.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().interruption(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (func $run (export "run") (call $run) (call $run))
    ///     (func (export "two") (result i32) (i32.const 2))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// store.set_timeout(Duration::ZERO)?;
    /// assert!(run.call(&mut store, ()).is_err());
    ///
    /// store.set_deadline(None)?;
    /// let two = instance.get_typed_func::<(), i32>(&mut store, "two")?;
    /// assert_eq!(two.call(&mut store, ())?, 2);
    /// # Ok(()) }
    /// ```
    pub fn set_timeout(&mut self, timeout: Duration) -> Result<()> {
        self.set_deadline(Instant::now().checked_add(timeout))
    }

    /// Has calls that can wait ([`call_async`](crate::Func::call_async),
    /// [`call_concurrent`](crate::Func::call_concurrent)) let others run when they have
    /// run for so long: the future is then pending, has woken its task, and continues
    /// when it is polled again. Other calls are not sliced, nor is what a host function
    /// calls without waiting. None lets calls run as long as they want, as at first.
    /// Fails without [`Config::interruption`](crate::Config::interruption).
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().interruption(true))?;
    /// let module = Module::new(&engine, r#"(func (export "run") (loop (br 0)))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// store.set_time_slice(Some(Duration::from_millis(1)))?;
    /// let call = run.call_async(&mut store, ());
    /// // The call lets the timer of the executor run, which then drops it.
    /// assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn set_time_slice(&mut self, length: Option<Duration>) -> Result<()> {
        check(self.engine().config().interruption)?;
        let runtime = &mut self.inner.runtime;
        runtime.set_time_slice(length).context("cannot start the timer")
    }
}

impl<T> Store<T> {
    /// How much fuel is left. Fails without
    /// [`Config::consume_fuel`](crate::Config::consume_fuel).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().consume_fuel(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (func (export "add") (param i32 i32) (result i32)
    ///       (i32.add (local.get 0) (local.get 1)))
    ///     (func (export "run") (loop (br 0)))
    /// "#)?;
    /// let mut store = Store::new(&engine, ());
    /// store.set_fuel(1000)?;
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let add = instance.get_typed_func::<(i32, i32), i32>(&mut store, "add")?;
    /// add.call(&mut store, (1, 2))?;
    /// assert_eq!(store.get_fuel()?, 997);
    ///
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// let error = run.call(&mut store, ()).unwrap_err();
    /// assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::OutOfFuel);
    /// assert_eq!(store.get_fuel()?, 0);
    /// # Ok(()) }
    /// ```
    pub fn get_fuel(&self) -> Result<u64> {
        check_fuel(self.engine().config().consume_fuel)?;
        Ok(self.inner.runtime.fuel())
    }

    /// Sets how much fuel there is. Calls that have used it up end with the trap
    /// [`OutOfFuel`](crate::TrapCode::OutOfFuel), at the head of the next loop or the
    /// beginning of the next function, unless [somebody](Self::on_out_of_fuel) gives more.
    /// Fails without [`Config::consume_fuel`](crate::Config::consume_fuel).
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        self.as_context_mut().set_fuel(fuel)
    }

    /// Has calls that can wait let others run whenever they have used so much fuel, as
    /// after a [time slice](Self::set_time_slice), but always at the same places. None
    /// lets them run until the fuel is used up, as at first. Fails for zero, and without
    /// [`Config::consume_fuel`](crate::Config::consume_fuel).
    pub fn fuel_async_yield_interval(&mut self, interval: Option<u64>) -> Result<()> {
        check_fuel(self.engine().config().consume_fuel)?;
        ensure!(interval != Some(0), "an interval has at least one unit of fuel");
        self.inner.runtime.set_fuel_interval(interval);
        Ok(())
    }
}

impl<T: 'static> Store<T> {
    /// Has a function asked whenever a call has used up all fuel: whether the call ends, or
    /// goes on where it is with more, at once or after others have run. It is asked at the same
    /// places in every run. If it fails, the call ends with its error. Fails without
    /// [`Config::consume_fuel`](crate::Config::consume_fuel).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().consume_fuel(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (func (export "count") (param $n i32) (result i32) (local $i i32)
    ///       (loop $next
    ///         (local.set $i (i32.add (local.get $i) (i32.const 1)))
    ///         (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    ///       (local.get $i))
    /// "#)?;
    /// // The data is how much the user may still buy.
    /// let mut store = Store::new(&engine, 10_000);
    /// store.on_out_of_fuel(|mut store| {
    ///     let budget = store.data_mut();
    ///     let portion = 1000.min(*budget);
    ///     *budget -= portion;
    ///     Ok(OutOfFuel::Continue(portion))
    /// })?;
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let count = instance.get_typed_func::<i32, i32>(&mut store, "count")?;
    /// assert_eq!(count.call(&mut store, 500)?, 500);
    /// assert_eq!(*store.data(), 6000);
    ///
    /// let error = count.call(&mut store, 5000).unwrap_err();
    /// assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::OutOfFuel);
    /// assert_eq!(*store.data(), 0);
    /// # Ok(()) }
    /// ```
    pub fn on_out_of_fuel(
        &mut self,
        mut ask: impl FnMut(StoreContextMut<'_, T>) -> Result<OutOfFuel> + Send + Sync + 'static,
    ) -> Result<()> {
        check_fuel(self.engine().config().consume_fuel)?;
        self.inner.runtime.set_fuel_hook(Foreign::new(Box::new(move |runtime| {
            // SAFETY: whoever called WebAssembly has set the owner, which is a store of this
            // very type, and uses it no more than the function that has stopped.
            ask(StoreContextMut(unsafe { &mut *runtime.owner().cast() }))
        })));
        Ok(())
    }
}

impl<T> StoreContextMut<'_, T> {
    /// As [`Store::get_fuel`].
    pub fn get_fuel(&self) -> Result<u64> {
        check_fuel(self.engine().config().consume_fuel)?;
        Ok(self.0.runtime.fuel())
    }

    /// As [`Store::set_fuel`].
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        check_fuel(self.engine().config().consume_fuel)?;
        self.0.runtime.set_fuel(fuel);
        Ok(())
    }

    /// As [`Store::set_deadline`].
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> Result<()> {
        check(self.engine().config().interruption)?;
        self.0.runtime.set_deadline(deadline).context("cannot start the timer")
    }
}

impl<T> StoreContext<'_, T> {
    /// As [`Caller::check_interruption`].
    pub fn check_interruption(&self) -> Result<()> {
        self.0.runtime.interrupts().check().map_err(|code| Trap::from_code(code).into())
    }
}

impl<T> StoreContextMut<'_, T> {
    /// As [`Caller::check_interruption`].
    pub fn check_interruption(&self) -> Result<()> {
        self.as_context().check_interruption()
    }
}

impl<T> Caller<'_, T> {
    /// Fails with the trap [`Interrupt`](crate::TrapCode::Interrupt) if what runs in the store
    /// must end: a handle has interrupted it, or its deadline has passed. A host function that
    /// works for long calls this between pieces of its work, and returns the error. It reads
    /// one word of memory.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().interruption(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "work" (func $work))
    ///       (func (export "run") (call $work)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "work", |caller: Caller<'_, ()>| -> Result<()> {
    ///     loop {
    ///         std::thread::sleep(Duration::from_millis(1)); // A piece of the work.
    ///         caller.check_interruption()?;
    ///     }
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// store.set_timeout(Duration::from_millis(10))?;
    /// let error = run.call(&mut store, ()).unwrap_err();
    /// assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::Interrupt);
    /// # Ok(()) }
    /// ```
    pub fn check_interruption(&self) -> Result<()> {
        self.store.check_interruption()
    }
}

/// Fails unless functions are compiled so that they can be interrupted.
fn check(enabled: bool) -> Result<()> {
    ensure!(
        enabled,
        "the functions of this engine cannot be interrupted: set `Config::interruption`"
    );
    Ok(())
}

/// Fails unless what functions execute is counted.
fn check_fuel(enabled: bool) -> Result<()> {
    ensure!(enabled, "this engine does not count fuel: set `Config::consume_fuel`");
    Ok(())
}
