//! Asks the limiter of a store before something grows.

use crate::embedder::{
    Answers, AsyncLimiter, Decision, Growth, Limiter, Refused, ResourceLimiter,
    ResourceLimiterAsync, Undecided, bytes,
};
use crate::run::instantiate::InstantiateError;
use crate::store::Store;
use crate::store::running::NO_POLLER;
use anyhow::{Result, bail};
use ropewalk_abi::{MemoryType, TableType};
use std::sync::Arc;
use std::task::{Context, Waker};

impl Store {
    /// Sets a limiter that decides at once.
    pub fn set_limiter(&mut self, limiter: Box<dyn ResourceLimiter>) {
        self.embedder.limiter = Limiter::Sync(limiter);
    }

    /// Sets a limiter that may wait.
    pub fn set_limiter_async(&mut self, limiter: Arc<dyn ResourceLimiterAsync>) {
        self.embedder.limiter = Limiter::Async(AsyncLimiter::new(limiter));
    }

    /// Fails unless the host may own one more reference.
    pub fn check_new_handle(&mut self) -> Result<(), Refused> {
        let roots = &mut self.heap.roots;
        if self.embedder.handles_growing(roots.count_owned()) {
            return Ok(());
        }
        roots.forget_without_owners();
        let count = roots.count_owned();
        match self.embedder.handles_growing(count) {
            true => Ok(()),
            false => Err(Refused(format!("{} references that the host owns", count + 1))),
        }
    }

    /// Asks the limiter about a growth. A limiter that panics has refused.
    pub(crate) fn ask(&mut self, growth: Growth) -> Decision {
        let poller = match &self.embedder.limiter {
            Limiter::Async(limiter) if limiter.can_wait() => self.running.poller(),
            _ => NO_POLLER,
        };
        let asked = self.embedder.ask(|limiter| match poller.is_null() {
            true => limiter.ask(growth, &mut Context::from_waker(Waker::noop())),
            // SAFETY: the poller is valid as long as its activation runs.
            false => limiter.ask(growth, unsafe { &mut *(*poller).context }),
        });
        asked.unwrap_or(Decision::No)
    }

    /// As [`ask`](Self::ask), for a memory or table. An undecided limiter is an error.
    fn may_grow(&mut self, growth: Growth) -> Result<bool> {
        match self.ask(growth) {
            Decision::Yes => Ok(true),
            Decision::No => Ok(false),
            Decision::Undecided => bail!(Undecided),
            Decision::Fails(error) => Err(error),
        }
    }

    /// The growth of a memory by `delta` pages.
    pub fn memory_growth(&self, index: usize, delta: u64) -> Growth {
        let ty = self.objects.memories[index].ty();
        Growth::of_memory(&ty, ty.minimum, ty.minimum.saturating_add(delta))
    }

    /// The growth of a table by `delta` elements.
    pub fn table_growth(&self, index: usize, delta: u64) -> Growth {
        let ty = self.objects.tables[index].ty();
        Growth::of_table(&ty, ty.minimum, ty.minimum.saturating_add(delta))
    }

    /// Grows a memory. Returns the old size in pages, or `None` if it cannot grow.
    pub fn grow_memory(&mut self, index: usize, delta: u64) -> Result<Option<u64>> {
        if !self.may_grow(self.memory_growth(index, delta))? {
            return Ok(None);
        }
        let from = self.objects.memories[index].size();
        let grown = self.objects.grow_memory(index, delta);
        if grown.is_none() {
            self.embedder.memory_grow_failed(from, from.saturating_add(delta));
        }
        Ok(grown)
    }

    /// Grows a table. Returns the old size, or `None` if it cannot grow.
    pub fn grow_table(&mut self, index: usize, delta: u64, init: u64) -> Result<Option<u64>> {
        match self.may_grow(self.table_growth(index, delta))? {
            true => Ok(self.objects.grow_table(index, delta, init)),
            false => Ok(None),
        }
    }

    pub(crate) fn check_new_instance(&mut self) -> Result<()> {
        let count = self.objects.instances.len();
        if !self.may_grow(Growth::Instances { from: count, to: count + 1 })? {
            bail!(Refused(format!("{} instances", count + 1)));
        }
        Ok(())
    }

    pub(crate) fn check_new_memory(&mut self, ty: &MemoryType) -> Result<()> {
        if !self.may_grow(Growth::of_memory(ty, 0, ty.minimum))? {
            bail!(Refused(format!("a memory of {} bytes", bytes(ty.minimum))));
        }
        Ok(self.objects.check_more_pages(ty.minimum)?)
    }

    pub(crate) fn check_new_table(&mut self, ty: &TableType) -> Result<()> {
        if !self.may_grow(Growth::of_table(ty, 0, ty.minimum))? {
            bail!(Refused(format!("a table of {} elements", ty.minimum)));
        }
        Ok(self.objects.check_more_elements(ty.minimum)?)
    }
}

impl Store {
    /// Asks a limiter that may wait about all growths, until it refuses one. Other limiters are
    /// asked later.
    pub fn ask_first(
        &self,
        growths: Vec<Growth>,
    ) -> impl Future<Output = Result<Answers>> + Send + use<> {
        let limiter = match &self.embedder.limiter {
            Limiter::Async(limiter) => Some(limiter.limiter.clone()),
            _ => None,
        };
        async move {
            let mut answers = Answers::none(limiter);
            let Some(limiter) = answers.limiter.clone() else { return Ok(answers) };
            for growth in growths {
                let answer = growth.ask_shared(limiter.clone()).await?;
                answers.add(growth, answer);
                if !answer {
                    break;
                }
            }
            Ok(answers)
        }
    }

    /// Sets decisions that the limiter has already made.
    pub fn expect_answers(&mut self, answers: Answers) {
        if let Limiter::Async(limiter) = &mut self.embedder.limiter {
            let before = std::mem::replace(&mut limiter.answers, answers);
            self.embedder.drop_value(before);
        }
    }

    /// Drops the remaining decisions, after the operation has ended.
    pub fn forget_answers(&mut self) {
        if let Limiter::Async(limiter) = &mut self.embedder.limiter {
            let answers = limiter.take_answers();
            self.embedder.drop_value(answers);
        }
    }
}

impl From<Refused> for InstantiateError {
    fn from(refused: Refused) -> InstantiateError {
        InstantiateError::Limiter(refused.into())
    }
}
