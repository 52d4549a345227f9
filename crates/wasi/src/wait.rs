//! Waiting. Nothing else in this crate blocks, but the file system.
//!
//! A function that would have to wait does nothing, and returns what it waits for
//! as its [failure](crate::errno::Failure::Wait). [Whoever called it](crate::linker)
//! waits, and calls it again: in a call that is polled by a
//! [future](crate::reactor::Ready), in any other here.

use crate::errno::{Errno, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Something of the host's that can be waited for.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Stdin,
    Stdout,
    Stderr,
    /// A file or a socket, which may be closed while it is waited for.
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

/// What is waited for.
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

/// Whether a source can be used without waiting, and whether nobody is at its
/// other end any more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    pub(crate) hangup: bool,
}

/// To wait until one of the sources is ready, or the time has come.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    pub(crate) sources: Vec<(Source, Interest)>,
    pub(crate) until: Option<Instant>,
}

impl Wait {
    pub(crate) fn new(source: Source, interest: Interest) -> Wait {
        Wait { sources: vec![(source, interest)], until: None }
    }

    /// To wait until others have run.
    pub(crate) fn turn() -> Wait {
        Wait { sources: Vec::new(), until: Some(Instant::now()) }
    }

    /// Waits, and blocks the thread for it.
    pub(crate) fn block(&self) -> Result {
        let mut fds = poll_fds(&self.sources);
        loop {
            let rest = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            match poll(&mut fds, rest.map(timespec).as_ref()) {
                // The longest time that the host can wait may be over first.
                Ok(0) if self.until.is_none_or(|until| Instant::now() < until) => {}
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What is ready now.
pub(crate) fn readiness(sources: &[(Source, Interest)]) -> Result<Vec<Readiness>> {
    let mut fds = poll_fds(sources);
    rustix::io::retry_on_intr(|| poll(&mut fds, Some(&timespec(Duration::ZERO))))?;
    let invalid = fds.iter().any(|fd| fd.revents().contains(PollFlags::NVAL));
    if invalid {
        // The host has closed one of its own standard streams.
        return Err(Errno::BADF.into());
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

/// Rounded to what the host can wait for at all.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).min(i64::from(i32::MAX)),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
