//! Fuel: a limit on how much code a store executes.
//!
//! Generated code counts [`StoreContext::fuel`](ropewalk_abi::StoreContext::fuel) down and
//! [stops](crate::run::interrupt) when it is negative. It then gets the next portion of the store's
//! reserve. When the reserve is empty, the embedder's hook is asked for more.

use crate::embedder::Foreign;
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::TrapCode;

/// The fuel beyond the portion that generated code has.
#[derive(Default)]
pub(crate) struct Fuel {
    reserve: u64,
    /// The size of a portion. After each one, activations that can wait yield.
    interval: Option<u64>,
    /// Called when the reserve is empty.
    hook: Option<FuelHook>,
}

/// How a call continues when all fuel is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfFuel {
    /// It ends with the trap [`OutOfFuel`](TrapCode::OutOfFuel).
    Trap,
    /// It continues with this much fuel. Zero ends it.
    Continue(u64),
    /// It yields if it can wait, then continues with this much fuel. Zero ends it.
    Yield(u64),
}

/// Called when the fuel of a store is used up. An error ends the running call.
pub type FuelHook = Foreign<Box<dyn FnMut(&mut Store) -> anyhow::Result<OutOfFuel> + Send + Sync>>;

impl Fuel {
    /// The remaining fuel. `portion` is what generated code has left, or less than zero.
    fn left(&self, portion: i64) -> u64 {
        u64::try_from(i128::from(portion) + i128::from(self.reserve)).unwrap_or(0)
    }

    /// Sets the remaining fuel.
    fn set(&mut self, fuel: u64, portion: &mut i64) {
        self.reserve = fuel;
        *portion = 0;
        self.take_portion(portion);
    }

    fn take_portion(&mut self, portion: &mut i64) {
        let most = self.interval.unwrap_or(u64::MAX).min(i64::MAX as u64);
        let next = self.reserve.min(most);
        self.reserve -= next;
        // A negative rest was used already.
        *portion = portion.saturating_add(next as i64);
    }
}

impl Store {
    fn fuel_and_portion(&mut self) -> (&mut Fuel, &mut i64) {
        (&mut self.budget.fuel, &mut self.context.get_mut().fuel)
    }

    /// The remaining fuel.
    pub fn fuel(&self) -> u64 {
        self.budget.fuel.left(self.context().fuel)
    }

    /// Sets the remaining fuel.
    pub fn set_fuel(&mut self, fuel: u64) {
        let (reserve, portion) = self.fuel_and_portion();
        reserve.set(fuel, portion);
    }

    /// Sets how much fuel an activation uses before it yields, if it can wait.
    pub fn set_fuel_interval(&mut self, interval: Option<u64>) {
        let (fuel, portion) = self.fuel_and_portion();
        fuel.interval = interval;
        // Fuel that was used stays used.
        fuel.set(fuel.left(*portion), portion);
    }

    /// Counts the rest of the portion as used: the function that has faulted may have used it, and
    /// had the count in a register.
    pub(crate) fn use_up_portion(&mut self) {
        if self.options.consume_fuel {
            let context = self.context_mut();
            context.fuel = context.fuel.min(0);
        }
    }

    /// Sets the hook for used-up fuel.
    pub fn set_fuel_hook(&mut self, hook: FuelHook) {
        self.budget.fuel.hook = Some(hook);
    }

    /// Takes the next portion if the last one is used up. Returns whether to yield.
    pub(crate) fn refuel(&mut self) -> Result<bool, Ending> {
        if !self.options.consume_fuel || self.context().fuel >= 0 {
            return Ok(false);
        }
        let mut lets_others_run = self.budget.fuel.interval.is_some();
        while self.context().fuel < 0 {
            if self.budget.fuel.reserve == 0 {
                lets_others_run |= self.ask_for_fuel()?;
            }
            let (fuel, portion) = self.fuel_and_portion();
            fuel.take_portion(portion);
        }
        Ok(lets_others_run)
    }

    /// Asks the embedder for more. Returns whether the activation should yield first.
    fn ask_for_fuel(&mut self) -> Result<bool, Ending> {
        const NONE: Ending = Ending::Trap(TrapCode::OutOfFuel);
        let mut hook = self.budget.fuel.hook.take().ok_or(NONE)?;
        let answer = hook.call(|hook| hook(self));
        match &self.budget.fuel.hook {
            None => self.budget.fuel.hook = Some(hook),
            // The hook has set another one.
            Some(_) => self.embedder.drop_value(hook),
        }
        let (more, lets_others_run) = match answer.map_err(Ending::Panic)? {
            Ok(OutOfFuel::Trap | OutOfFuel::Continue(0) | OutOfFuel::Yield(0)) => return Err(NONE),
            Ok(OutOfFuel::Continue(more)) => (more, false),
            Ok(OutOfFuel::Yield(more)) => (more, true),
            Err(error) => return Err(Ending::Error(error)),
        };
        self.budget.fuel.reserve = self.budget.fuel.reserve.saturating_add(more);
        Ok(lets_others_run)
    }
}
