//! The clocks that runs are timed with.

use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

use crate::row::Run;

/// What time is taken from.
#[derive(Clone, Copy)]
pub enum Clock {
    /// The time that this thread was on a processor: what other programs on the
    /// machine take does not count.
    Thread,
    /// For work that several threads share.
    Wall,
}

impl Clock {
    fn now(self) -> Duration {
        let id = match self {
            Self::Thread => ClockId::ThreadCPUTime,
            Self::Wall => ClockId::Monotonic,
        };
        let now = clock_gettime(id);
        Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32)
    }

    /// Runs `work`, whose result is to be compared, against this clock.
    pub fn time(self, work: impl FnOnce() -> Result<i64>) -> Result<Run> {
        let start = self.now();
        let result = work()?;
        Ok(Run { cost: (self.now() - start).as_secs_f64(), result })
    }
}
