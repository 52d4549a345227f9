//! Fuel: how much may be executed.
//!
//! Generated code counts what it executes down from
//! [`StoreContext::fuel`](ropewalk_abi::StoreContext::fuel), and
//! [stops](crate::run::interrupt) where it finds that below zero. It then gets the next portion
//! of what the store has, or what the embedder gives when that is used up.

use crate::embedder::Foreign;
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::TrapCode;
use std::fmt;

/// The fuel of a store beside the portion that generated code has.
#[derive(Default)]
pub(crate) struct Fuel {
    reserve: u64,
    /// How large a portion is, after which activations that can wait let others run.
    interval: Option<u64>,
    /// Who is asked when all is used up.
    hook: Option<FuelHook>,
}

impl fmt::Debug for Fuel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fuel { reserve, interval, hook: _ } = self;
        f.debug_struct("Fuel").field("reserve", reserve).field("interval", interval).finish()
    }
}

/// What becomes of a call that has used up all fuel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfFuel {
    /// It ends with the trap [`OutOfFuel`](TrapCode::OutOfFuel).
    Trap,
    /// It goes on with so much. With nothing it ends.
    Continue(u64),
    /// It lets others run first, if it can wait, and goes on with so much.
    Yield(u64),
}

/// What is asked when the fuel of a store is used up. If it fails, what runs ends with its
/// error.
pub type FuelHook = Foreign<Box<dyn FnMut(&mut Store) -> anyhow::Result<OutOfFuel> + Send + Sync>>;

impl Store {
    /// How much may still be executed.
    pub fn fuel(&self) -> u64 {
        let left = i128::from(self.context().fuel) + i128::from(self.budget.fuel.reserve);
        u64::try_from(left).unwrap_or(0)
    }

    /// Sets how much may be executed.
    pub fn set_fuel(&mut self, fuel: u64) {
        self.budget.fuel.reserve = fuel;
        self.context_mut().fuel = 0;
        self.take_portion();
    }

    /// Lets activations that can wait let others run when they have executed so much.
    pub fn set_fuel_interval(&mut self, interval: Option<u64>) {
        self.budget.fuel.interval = interval;
        // What is used already stays used.
        self.set_fuel(self.fuel());
    }

    fn take_portion(&mut self) {
        let most = self.budget.fuel.interval.unwrap_or(u64::MAX).min(i64::MAX as u64);
        let portion = self.budget.fuel.reserve.min(most);
        self.budget.fuel.reserve -= portion;
        // What is below zero was used already.
        let context = self.context_mut();
        context.fuel = context.fuel.saturating_add(portion as i64);
    }

    /// Sets what is asked when all is used up.
    pub fn set_fuel_hook(&mut self, hook: FuelHook) {
        self.budget.fuel.hook = Some(hook);
    }

    /// Takes the next portion if generated code has none; returns whether it is time to
    /// let others run. Fails if there is none.
    pub(crate) fn refuel(&mut self) -> Result<bool, Ending> {
        if !self.options.consume_fuel || self.context().fuel >= 0 {
            return Ok(false);
        }
        let mut lets_others_run = self.budget.fuel.interval.is_some();
        while self.context().fuel < 0 {
            if self.budget.fuel.reserve == 0 {
                lets_others_run |= self.ask_for_fuel()?;
            }
            self.take_portion();
        }
        Ok(lets_others_run)
    }

    /// Asks the embedder for more; returns whether others are to run first.
    fn ask_for_fuel(&mut self) -> Result<bool, Ending> {
        const NONE: Ending = Ending::Trap(TrapCode::OutOfFuel);
        let mut hook = self.budget.fuel.hook.take().ok_or(NONE)?;
        let answer = hook.call(|hook| hook(self));
        match &self.budget.fuel.hook {
            None => self.budget.fuel.hook = Some(hook),
            // It has set another.
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
