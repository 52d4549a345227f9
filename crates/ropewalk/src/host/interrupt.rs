//! Interruption of calls: handles, deadlines, time slices, fuel.

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
    /// Ends all nested calls that run in the store with the trap
    /// [`Interrupt`](crate::TrapCode::Interrupt). If none is running, ends a call that waits for a
    /// pending host call, or else the next call. A running host function is not interrupted, but its
    /// caller is when it returns. A pending host call is dropped. The store can be used afterwards.
    /// Does nothing if the store was dropped.
    pub fn interrupt(&self) {
        self.0.interrupt();
    }
}

impl<T> Store<T> {
    /// A handle to interrupt the calls of this store, from any thread. Fails without
    /// [`Config::interruption`](crate::Config::interruption).
    pub fn interrupt_handle(&self) -> Result<InterruptHandle> {
        check(self.engine().config().interruption)?;
        Ok(InterruptHandle(self.inner.runtime.interrupts().clone()))
    }

    /// Ends calls that run at this time, or begin later, with the trap
    /// [`Interrupt`](crate::TrapCode::Interrupt). `None` removes the deadline. Fails without
    /// [`Config::interruption`](crate::Config::interruption).
    ///
    /// Calls that wait end too, and their pending host calls are dropped.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> Result<()> {
        self.as_context_mut().set_deadline(deadline)
    }

    /// Sets a [deadline](Self::set_deadline) this long from now.
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

    /// Lets other tasks run whenever a call has run for this long. It applies to calls that can wait
    /// ([`call_async`](crate::Func::call_async),
    /// [`call_concurrent`](crate::Func::call_concurrent)): the future returns pending, has woken its
    /// task, and continues when it is polled again. Sync calls have no time slices, also those in
    /// host functions. `None`, the default, removes the limit. Fails without
    /// [`Config::interruption`](crate::Config::interruption).
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

    /// Sets how much fuel there is. A call that has used it up ends with the trap
    /// [`OutOfFuel`](crate::TrapCode::OutOfFuel), at the head of the next loop or the beginning of
    /// the next function, unless a [hook](Self::on_out_of_fuel) gives more. Fails without
    /// [`Config::consume_fuel`](crate::Config::consume_fuel).
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        self.as_context_mut().set_fuel(fuel)
    }

    /// Lets other tasks run whenever a call has used this much fuel, as after a
    /// [time slice](Self::set_time_slice), but always at the same places. `None`, the default, lets
    /// calls run until the fuel is used up. Fails for zero, and without
    /// [`Config::consume_fuel`](crate::Config::consume_fuel).
    pub fn fuel_async_yield_interval(&mut self, interval: Option<u64>) -> Result<()> {
        check_fuel(self.engine().config().consume_fuel)?;
        ensure!(interval != Some(0), "an interval must be at least one unit of fuel, found 0");
        self.inner.runtime.set_fuel_interval(interval);
        Ok(())
    }
}

impl<T: 'static> Store<T> {
    /// Sets a hook that runs whenever a call has used up all fuel. It decides whether the call ends,
    /// or continues with more fuel, at once or after other tasks. It runs at the same places in
    /// every run. If the hook fails, the call ends with its error. Fails without
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
    /// // The data is how much fuel the user may still buy.
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
            // SAFETY: the call into WebAssembly has set the owner, a store of this exact type. While
            // the function is stopped, the caller does not use it.
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
    /// Fails with the trap [`Interrupt`](crate::TrapCode::Interrupt) if the running calls must end: a
    /// handle has interrupted them, or their deadline has passed. A host function with much work
    /// calls this between pieces of the work, and returns the error. It reads one word of memory.
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

fn check(enabled: bool) -> Result<()> {
    ensure!(
        enabled,
        "the functions of this engine cannot be interrupted: set `Config::interruption`"
    );
    Ok(())
}

fn check_fuel(enabled: bool) -> Result<()> {
    ensure!(enabled, "this engine does not count fuel: set `Config::consume_fuel`");
    Ok(())
}
