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

    fn count(&self) -> usize {
        match self.allows(CallbackSite::Counts) {
            true => usize::MAX,
            false => 0,
        }
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        self.decides(CallbackSite::Memory)
    }

    fn memory_grow_failed(&mut self, _: usize, _: usize) {
        self.allows(CallbackSite::MemoryFailed);
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        self.decides(CallbackSite::Table)
    }

    fn stacks_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
        self.allows(CallbackSite::Stacks)
    }

    fn stack_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
        self.allows(CallbackSite::Stack)
    }

    fn heap_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows(CallbackSite::Heap)
    }

    fn host_values_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows(CallbackSite::HostValues)
    }

    fn handles_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows(CallbackSite::Handles)
    }

    fn instances(&self) -> usize {
        self.count()
    }

    fn memories(&self) -> usize {
        self.count()
    }

    fn tables(&self) -> usize {
        self.count()
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
    fn memory_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        self.answer(CallbackSite::Memory)
    }

    fn memory_grow_failed(&self, _: usize, _: usize) {
        self.0.allows(CallbackSite::MemoryFailed);
    }

    fn table_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        self.answer(CallbackSite::Table)
    }

    fn instances_growing(&self, _: usize, _: usize) -> Answer<'_, Result<bool>> {
        self.answer(CallbackSite::Counts)
    }

    fn stacks_growing(&self, _: usize, _: usize, _: usize) -> Answer<'_, bool> {
        self.allows(CallbackSite::Stacks)
    }

    fn heap_growing(&self, _: usize, _: usize) -> Answer<'_, bool> {
        self.allows(CallbackSite::Heap)
    }

    fn stack_growing(&self, _: usize, _: usize, _: usize) -> bool {
        self.0.allows(CallbackSite::Stack)
    }

    fn host_values_growing(&self, _: usize, _: usize) -> bool {
        self.0.allows(CallbackSite::HostValues)
    }

    fn handles_growing(&self, _: usize, _: usize) -> bool {
        self.0.allows(CallbackSite::Handles)
    }

    fn instances(&self) -> usize {
        self.0.count()
    }

    fn memories(&self) -> usize {
        self.0.count()
    }

    fn tables(&self) -> usize {
        self.0.count()
    }
}
