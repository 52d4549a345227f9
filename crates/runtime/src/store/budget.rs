//! The limits on execution: interruption, time slices, fuel.
//!
//! Each limit stops functions through a word that generated code polls: one of each instance, which
//! [`Interrupts`] sets, or the fuel in the context, which counts down. So the fuel of a store is in
//! two places. Their sum is what the embedder has given and functions have not used.

use super::fuel::Fuel;
use super::interrupts::Interrupts;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Budget {
    /// Stops running functions. Other threads and the timer share it, so it can outlive the store. It
    /// lists the store's instances until the store is dropped.
    pub interrupts: Arc<Interrupts>,
    /// How long an activation runs before it yields, if it can wait. If set, a timer stops functions
    /// when the current slice ends.
    pub time_slice: Option<Duration>,
    /// The fuel beyond the portion that generated code has.
    pub fuel: Fuel,
}
