//! Callbacks other than host functions.

use super::case::CallbackSite;
use super::host::pause;
use super::site::{Reply, Site, WhenDropped};
use anyhow::bail;
use ropewalk::{Answer, ResourceLimiter, ResourceLimiterAsync, Result};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// An error whose methods are callbacks.
pub struct Failure(pub Site);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.meet(CallbackSite::Display, None) {
            Reply::Usual => f.write_str("the embedder fails"),
            _ => Err(fmt::Error),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failure")
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.meet(CallbackSite::Source, None);
        None
    }
}

/// A waker whose methods are callbacks.
struct Wakes(Site, #[expect(dead_code, reason = "it is dropped")] WhenDropped);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.meet(CallbackSite::Wake, None);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.meet(CallbackSite::Wake, None);
    }
}

/// Creates a waker whose methods are callbacks.
pub fn waker(site: &Site) -> Waker {
    Waker::from(Arc::new(Wakes(site.clone(), WhenDropped(site.clone(), CallbackSite::DropWaker))))
}

/// A writer of a trace.
pub struct Writes(pub Site);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.meet(CallbackSite::TraceWrite, None) {
            Reply::Usual => Ok(bytes.len()),
            Reply::Wait(_) => Ok(bytes.len().min(1)),
            _ => Err(io::Error::other("the embedder fails")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A limiter that decides at once.
pub struct Limits(Site, #[expect(dead_code, reason = "it is dropped")] WhenDropped);

impl Limits {
    pub fn new(site: &Site) -> Limits {
        Limits(site.clone(), WhenDropped(site.clone(), CallbackSite::DropLimiter))
    }

    fn allows(&self, place: CallbackSite) -> bool {
        self.0.meet(place, None) == Reply::Usual
    }

    fn decides(&self, place: CallbackSite) -> Result<bool> {
        match self.0.meet(place, None) {
            Reply::Usual => Ok(true),
            Reply::Fail => bail!(Failure(self.0.clone())),
            _ => Ok(false),
        }
    }

    fn count(&self, place: CallbackSite) -> usize {
        match self.allows(place) {
            true => usize::MAX,
            false => 0,
        }
    }
}

/// Methods of a limiter: which method decides each, and at which site.
macro_rules! decisions {
    ($self:ident: $receiver:ty; $(
        $name:ident($($parameter:ty),*) -> $result:ty = $decider:expr, $decides:ident $site:ident;
    )*) => {
        $(fn $name($self: $receiver $(, _: $parameter)*) -> $result {
            $decider.$decides(CallbackSite::$site)
        })*
    };
}

impl ResourceLimiter for Limits {
    decisions! { self: &mut Self;
        memory_growing(usize, usize, Option<usize>) -> Result<bool> = self, decides Memory;
        table_growing(usize, usize, Option<usize>) -> Result<bool> = self, decides Table;
        stacks_growing(usize, usize, usize) -> bool = self, allows Stacks;
        stack_growing(usize, usize, usize) -> bool = self, allows Stack;
        heap_growing(usize, usize) -> bool = self, allows Heap;
        host_values_growing(usize, usize) -> bool = self, allows HostValues;
        handles_growing(usize, usize) -> bool = self, allows Handles;
    }

    decisions! { self: &Self;
        instances() -> usize = self, count Counts;
        memories() -> usize = self, count Counts;
        tables() -> usize = self, count Counts;
    }

    fn memory_grow_failed(&mut self, _: usize, _: usize) {
        self.allows(CallbackSite::MemoryFailed);
    }
}

/// A limiter that decides when it is polled, or later.
pub struct Decides(pub Limits);

impl Decides {
    fn answer(&self, place: CallbackSite) -> Answer<'_, Result<bool>> {
        Box::pin(async move {
            let _dropped = WhenDropped(self.0.0.clone(), CallbackSite::DropAnswer);
            loop {
                match self.0.0.meet(place, None) {
                    Reply::Usual => return Ok(true),
                    Reply::Wait(polls) => pause(polls).await,
                    Reply::Fail => bail!(Failure(self.0.0.clone())),
                    _ => return Ok(false),
                }
            }
        })
    }

    fn allows(&self, place: CallbackSite) -> Answer<'_, bool> {
        Box::pin(async move { self.answer(place).await.unwrap_or(false) })
    }
}

impl ResourceLimiterAsync for Decides {
    decisions! { self: &Self;
        memory_growing(usize, usize, Option<usize>) -> Answer<'_, Result<bool>> =
            self, answer Memory;
        table_growing(usize, usize, Option<usize>) -> Answer<'_, Result<bool>> =
            self, answer Table;
        instances_growing(usize, usize) -> Answer<'_, Result<bool>> = self, answer Counts;
        stacks_growing(usize, usize, usize) -> Answer<'_, bool> = self, allows Stacks;
        heap_growing(usize, usize) -> Answer<'_, bool> = self, allows Heap;
        stack_growing(usize, usize, usize) -> bool = self.0, allows Stack;
        host_values_growing(usize, usize) -> bool = self.0, allows HostValues;
        handles_growing(usize, usize) -> bool = self.0, allows Handles;
        instances() -> usize = self.0, count Counts;
        memories() -> usize = self.0, count Counts;
        tables() -> usize = self.0, count Counts;
    }

    fn memory_grow_failed(&self, _: usize, _: usize) {
        self.0.allows(CallbackSite::MemoryFailed);
    }
}
