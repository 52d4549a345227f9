//! Clocks of programs.

use crate::abi::errno::Errno;
use crate::failure::Result;
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that a program reads.
///
/// Waiting always uses the host's clock: a program that sleeps for a second waits for a second.
///
/// ```
/// use ropewalk::{Engine, Linker, Module, Store};
/// use ropewalk_wasi::{Clock, WasiCtx};
/// use std::time::Duration;
///
/// /// A clock that does not advance.
/// struct Stopped(Duration);
///
/// impl Clock for Stopped {
///     fn resolution(&self) -> Duration {
///         Duration::from_secs(1)
///     }
///
///     fn now(&self) -> Duration {
///         self.0
///     }
/// }
///
/// # fn main() -> ropewalk::Result<()> {
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "wasi_snapshot_preview1" "clock_time_get"
///         (func $time (param i32 i64 i32) (result i32)))
///       (memory (export "memory") 1)
///       (func (export "now") (result i64)
///         (drop (call $time (i32.const 0) (i64.const 1) (i32.const 0)))
///         (i64.load (i32.const 0))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
/// let ctx = WasiCtx::builder().wall_clock(Stopped(Duration::from_secs(1_000))).build();
/// let mut store = Store::new(&engine, ctx);
/// let instance = linker.instantiate(&mut store, &module)?;
/// let now = instance.get_typed_func::<(), i64>(&mut store, "now")?;
/// assert_eq!(now.call(&mut store, ())?, 1_000_000_000_000);
/// # Ok(())
/// # }
/// ```
pub trait Clock: Send + Sync {
    /// The smallest difference between two readings.
    fn resolution(&self) -> Duration;

    /// The time since the clock's origin: 1970 for a wall clock, arbitrary for a monotonic clock.
    fn now(&self) -> Duration;
}

/// The host's wall clock.
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn resolution(&self) -> Duration {
        resolution(ClockId::Realtime)
    }

    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// The time since the context was built.
pub(crate) struct MonotonicClock {
    pub(crate) beginning: Instant,
}

impl Clock for MonotonicClock {
    fn resolution(&self) -> Duration {
        resolution(ClockId::Monotonic)
    }

    fn now(&self) -> Duration {
        self.beginning.elapsed()
    }
}

/// A clock that continues at the time `from`.
pub(crate) struct ContinuedClock {
    clock: Box<dyn Clock>,
    /// The reading of `clock` at the time `from`.
    beginning: Duration,
    from: Duration,
}

impl ContinuedClock {
    pub(crate) fn new(clock: Box<dyn Clock>, from: Duration) -> ContinuedClock {
        ContinuedClock { beginning: clock.now(), clock, from }
    }
}

impl Clock for ContinuedClock {
    fn resolution(&self) -> Duration {
        self.clock.resolution()
    }

    fn now(&self) -> Duration {
        self.from.saturating_add(self.clock.now().saturating_sub(self.beginning))
    }
}

/// CPU time of the host's process or thread.
struct CpuClock(ClockId);

impl Clock for CpuClock {
    fn resolution(&self) -> Duration {
        resolution(self.0)
    }

    fn now(&self) -> Duration {
        duration(clock_gettime(self.0))
    }
}

fn resolution(clock: ClockId) -> Duration {
    duration(clock_getres(clock))
}

fn duration(time: rustix::time::Timespec) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}

/// The clocks of a program.
pub(crate) struct Clocks {
    pub(crate) wall: Box<dyn Clock>,
    pub(crate) monotonic: Box<dyn Clock>,
}

impl Clocks {
    /// The clock with a number of the specification.
    pub(crate) fn get(&self, id: i32) -> Result<&dyn Clock> {
        match id {
            0 => Ok(&*self.wall),
            1 => Ok(&*self.monotonic),
            2 => Ok(&CpuClock(ClockId::ProcessCPUTime)),
            3 => Ok(&CpuClock(ClockId::ThreadCPUTime)),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// The clock with this number, if programs can wait for it.
    pub(crate) fn waitable(&self, id: u32) -> Result<&dyn Clock> {
        match id {
            0 | 1 => self.get(id as i32),
            2 | 3 => Err(Errno::NOTSUP.into()),
            _ => Err(Errno::INVAL.into()),
        }
    }
}

/// A time in nanoseconds, as programs read it.
pub(crate) fn nanoseconds(time: Duration) -> Result<u64> {
    Ok(u64::try_from(time.as_nanos()).map_err(|_| Errno::OVERFLOW)?)
}
