//! Setting the times of a file.

use crate::abi::FstFlags;
use crate::abi::errno::Errno;
use crate::failure::Result;
use cap_fs_ext::SystemTimeSpec;
use cap_std::time::SystemTime;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use std::time::{Duration, UNIX_EPOCH};

/// The new times of a file: last access and last modification.
pub(crate) struct FileTimes {
    atim: Time,
    mtim: Time,
}

/// The new value of a time.
#[derive(Clone, Copy)]
enum Time {
    Unchanged,
    Now,
    At(Duration),
}

impl FileTimes {
    /// Fails if the flags of a time contradict each other.
    pub(crate) fn new(atim: i64, mtim: i64, which: FstFlags) -> Result<FileTimes> {
        let has = |flag| which.contains(flag);
        Ok(FileTimes {
            atim: Time::new(atim, has(FstFlags::ATIM), has(FstFlags::ATIM_NOW))?,
            mtim: Time::new(mtim, has(FstFlags::MTIM), has(FstFlags::MTIM_NOW))?,
        })
    }

    /// For a descriptor.
    pub(crate) fn timestamps(&self) -> Timestamps {
        Timestamps { last_access: self.atim.timespec(), last_modification: self.mtim.timespec() }
    }

    /// For a path.
    pub(crate) fn specs(&self) -> (Option<SystemTimeSpec>, Option<SystemTimeSpec>) {
        (self.atim.spec(), self.mtim.spec())
    }
}

impl Time {
    fn new(nanoseconds: i64, set: bool, now: bool) -> Result<Time> {
        match (set, now) {
            (true, true) => Err(Errno::INVAL.into()),
            (true, false) => Ok(Time::At(Duration::from_nanos(nanoseconds as u64))),
            (false, true) => Ok(Time::Now),
            (false, false) => Ok(Time::Unchanged),
        }
    }

    fn timespec(self) -> Timespec {
        match self {
            Time::Unchanged => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            Time::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
            Time::At(time) => {
                Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
            }
        }
    }

    fn spec(self) -> Option<SystemTimeSpec> {
        match self {
            Time::Unchanged => None,
            Time::Now => Some(SystemTimeSpec::SymbolicNow),
            Time::At(time) => {
                Some(SystemTimeSpec::Absolute(SystemTime::from_std(UNIX_EPOCH + time)))
            }
        }
    }
}
