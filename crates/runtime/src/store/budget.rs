//! The limits on execution: interruption, time slices, fuel.

use super::fuel::Fuel;
use super::interrupts::Interrupts;
use std::sync::Arc;
use std::time::Duration;

/// The limits on what a store executes.
#[derive(Default)]
pub(crate) struct Budget {
    /// Stops running functions.
    pub interrupts: Arc<Interrupts>,
    /// How long an activation runs before it yields, if it can wait.
    pub time_slice: Option<Duration>,
    /// The fuel beyond the portion that generated code has.
    pub fuel: Fuel,
}
