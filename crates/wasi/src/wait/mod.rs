//! Waits for descriptors and times. Elsewhere in this crate, only file-system calls block.
//!
//! A function that must wait has no effect and returns a [`Wait`] as its
//! [failure](crate::failure::Failure::Wait). The [caller](crate::call) waits and calls it again. An
//! asynchronous call waits by a [future](reactor::Ready), others block their thread.

pub(crate) mod reactor;

use crate::abi::errno::{Errno, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A descriptor of the host to wait for.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Stdin,
    Stdout,
    Stderr,
    /// A file or a socket, which the program may close during the wait.
    Owned(Arc<OwnedFd>),
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Source::Stdin => rustix::stdio::stdin(),
            Source::Stdout => rustix::stdio::stdout(),
            Source::Stderr => rustix::stdio::stderr(),
            Source::Owned(fd) => fd.as_fd(),
        }
    }
}

/// The operation to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
}

impl Interest {
    fn flags(self) -> PollFlags {
        match self {
            Interest::Read => PollFlags::IN,
            Interest::Write => PollFlags::OUT,
        }
    }
}

/// Whether a source can be used without waiting, and whether its other end is closed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    pub(crate) hangup: bool,
}

/// A wait for one of several sources, or until a time.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    pub(crate) sources: Vec<(Source, Interest)>,
    pub(crate) until: Option<Instant>,
}

impl Wait {
    pub(crate) fn new(source: Source, interest: Interest) -> Wait {
        Wait { sources: vec![(source, interest)], until: None }
    }

    /// A wait until other calls have run.
    pub(crate) fn turn() -> Wait {
        Wait { sources: Vec::new(), until: Some(Instant::now()) }
    }

    /// Waits, blocking the thread.
    pub(crate) fn block(&self) -> Result {
        let mut fds = poll_fds(&self.sources);
        loop {
            let rest = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            match poll(&mut fds, rest.map(timespec).as_ref()) {
                // The host limits the length of a wait.
                Ok(0) if self.until.is_none_or(|until| Instant::now() < until) => {}
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Polls sources without waiting.
pub(crate) fn readiness(sources: &[(Source, Interest)]) -> Result<Vec<Readiness>> {
    let mut fds = poll_fds(sources);
    rustix::io::retry_on_intr(|| poll(&mut fds, Some(&timespec(Duration::ZERO))))?;
    let invalid = fds.iter().any(|fd| fd.revents().contains(PollFlags::NVAL));
    if invalid {
        // The host has closed its own standard stream.
        return Err(Errno::BADF);
    }
    Ok(fds.iter().map(readiness_of).collect())
}

fn readiness_of(fd: &PollFd<'_>) -> Readiness {
    let events = fd.revents();
    Readiness { ready: !events.is_empty(), hangup: events.contains(PollFlags::HUP) }
}

fn poll_fds(sources: &[(Source, Interest)]) -> Vec<PollFd<'_>> {
    sources.iter().map(|(source, interest)| PollFd::new(source, interest.flags())).collect()
}

/// Converts a duration, limited to the longest wait of the host.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).min(i64::from(i32::MAX)),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
