//! How much a store may do, and when it stops.

use super::fuel::Fuel;
use super::interrupts::Interrupts;
use std::sync::Arc;
use std::time::Duration;

/// How much a store may do.
#[derive(Default)]
pub(crate) struct Budget {
    /// What stops it.
    pub interrupts: Arc<Interrupts>,
    /// How long activations that can wait run before they let others run.
    pub time_slice: Option<Duration>,
    /// What functions may execute when what they have now is used up.
    pub fuel: Fuel,
}
