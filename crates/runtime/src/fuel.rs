//! Fuel: how much may be executed.
//!
//! Generated code counts what it executes down from
//! [`StoreContext::fuel`](ropewalk_abi::StoreContext::fuel), and
//! [stops](crate::interrupt) where it finds that below zero. It then gets the next portion
//! of what the store has.

use crate::store::Store;
use ropewalk_abi::TrapCode;

/// The fuel of a store beside the portion that generated code has.
#[derive(Debug, Default)]
pub(crate) struct Fuel {
    reserve: u64,
    /// How large a portion is, after which activations that can wait let others run.
    interval: Option<u64>,
}

impl Store {
    /// How much may still be executed.
    pub fn fuel(&self) -> u64 {
        let left = i128::from(self.context().fuel) + i128::from(self.fuel.reserve);
        u64::try_from(left).unwrap_or(0)
    }

    /// Sets how much may be executed.
    pub fn set_fuel(&mut self, fuel: u64) {
        self.fuel.reserve = fuel;
        self.context_mut().fuel = 0;
        self.take_portion();
    }

    /// Lets activations that can wait let others run when they have executed so much.
    pub fn set_fuel_interval(&mut self, interval: Option<u64>) {
        self.fuel.interval = interval;
        // What is used already stays used.
        self.set_fuel(self.fuel());
    }

    fn take_portion(&mut self) {
        let most = self.fuel.interval.unwrap_or(u64::MAX).min(i64::MAX as u64);
        let portion = self.fuel.reserve.min(most);
        self.fuel.reserve -= portion;
        // What is below zero was used already.
        let context = self.context_mut();
        context.fuel = context.fuel.saturating_add(portion as i64);
    }

    /// Takes the next portion if generated code has none; returns whether it is time to
    /// let others run. Fails if there is none.
    pub(crate) fn refuel(&mut self) -> Result<bool, TrapCode> {
        if !self.options.consume_fuel || self.context().fuel >= 0 {
            return Ok(false);
        }
        while self.context().fuel < 0 {
            if self.fuel.reserve == 0 {
                return Err(TrapCode::OutOfFuel);
            }
            self.take_portion();
        }
        Ok(self.fuel.interval.is_some())
    }
}
