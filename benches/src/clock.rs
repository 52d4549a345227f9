//! The clocks that time runs.

use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

use crate::row::Run;

/// A clock.
#[derive(Clone, Copy)]
pub enum Clock {
    /// The processor time of this thread, which excludes other programs.
    Thread,
    /// Wall-clock time, for work in several threads.
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

    /// Times `work` with this clock. Both sides must return the same result.
    pub fn time(self, work: impl FnOnce() -> Result<i64>) -> Result<Run> {
        let start = self.now();
        let result = work()?;
        Ok(Run { cost: (self.now() - start).as_secs_f64(), result })
    }
}
