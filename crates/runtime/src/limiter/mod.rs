//! What a store may have: an embedder decides it while things grow.

use crate::activation::NOBODY;
use crate::embedder::Embedder;
use crate::instance::InstantiateError;
use crate::memory::MemoryError;
use crate::store::Store;
use crate::table::TableError;
use anyhow::{Result, bail};
use ropewalk_abi::{MemoryType, TableType};
use std::sync::Arc;
use std::task::{Context, Waker};
use waiting::AsyncLimiter;

pub(crate) use again::BuiltinCall;
pub use growth::Growth;
pub(crate) use total::Totals;
pub use waiting::{Answer, Answers, ResourceLimiterAsync};

mod again;
mod growth;
mod total;
mod waiting;

/// Decides how much a store may have.
///
/// It is asked before something grows. If it says no, what asks for more gets what the
/// specification says: `memory.grow` and `table.grow` return -1, and others trap. If it
/// fails, the call fails with that error. What cannot be had while a module is
/// instantiated is an error.
///
/// It may be asked while the store is half changed, so it gets numbers only. If it panics, it has
/// refused, and the panic continues where WebAssembly or the host has asked for more.
///
/// `StoreLimits` is one that needs no code.
pub trait ResourceLimiter: Send + Sync {
    /// Whether a linear memory may grow from so many bytes to so many. A new one grows
    /// from nothing. The maximum is what its type allows, if that says something.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool>;

    /// A memory that was allowed to grow could not.
    fn memory_grow_failed(&mut self, _current: usize, _desired: usize) {}

    /// Whether a table may grow from so many elements to so many.
    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool>;

    /// Whether there may be so many stacks, but roots, instead of fewer; all stacks have
    /// `bytes` bytes together then, as `Config::max_stack_memory` counts them. If it says
    /// no, stacks are parked that can be, and it is asked again. Then what makes one
    /// traps with `too many stacks`.
    fn stacks_growing(&mut self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether one stack, which may be a root, may grow from so many bytes to so many; all
    /// stacks have `bytes` bytes together then. It is asked for twice what the stack has,
    /// and, if it says no, for what is needed now. Then the call traps with `call stack
    /// exhausted`.
    ///
    /// WebAssembly waits at any instruction meanwhile, and this runs on the host's stack, like a
    /// host function.
    fn stack_growing(&mut self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether the objects of the heap may take so many bytes instead of fewer.
    /// Otherwise what makes one traps with `out of memory`.
    fn heap_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether there may be so many values of the host, such as an `externref` has.
    /// Otherwise making one fails with `out of memory`.
    fn host_values_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether the host may own so many references (`Owned`) instead of fewer. Otherwise
    /// making one is an error. Those that a typed call returns are counted, and not
    /// refused. If it says no, references that nobody owns any more are left out, and it is
    /// asked again.
    fn handles_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// How many instances there may be.
    fn instances(&self) -> usize {
        usize::MAX
    }

    /// How many memories there may be.
    fn memories(&self) -> usize {
        usize::MAX
    }

    /// How many tables there may be.
    fn tables(&self) -> usize {
        usize::MAX
    }
}

/// Something that a limiter has refused.
#[derive(Debug, thiserror::Error)]
#[error("the limiter of the store refuses {0}")]
pub struct Refused(String);

/// A limiter that may wait has not decided, and nobody waits for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the limiter of the store has not decided yet, and nobody waits for it: use the function \
     whose name ends in `_async`"
)]
pub struct Undecided;

/// The limiter of a store.
#[derive(Default)]
pub(crate) enum Limiter {
    /// There is none.
    #[default]
    None,
    /// One that answers at once.
    AtOnce(Box<dyn ResourceLimiter>),
    /// One that may wait.
    Waits(AsyncLimiter),
}

/// What a limiter has decided.
pub(crate) enum Decision {
    /// It may be.
    Yes,
    /// It may not.
    No,
    /// It has not decided yet, and cannot be waited for here; or whoever asks is left and
    /// asks again later.
    Undecided,
    /// The call fails.
    Fails(anyhow::Error),
}

impl From<Result<bool>> for Decision {
    fn from(answer: Result<bool>) -> Decision {
        match answer {
            Ok(true) => Decision::Yes,
            Ok(false) => Decision::No,
            Err(error) => Decision::Fails(error),
        }
    }
}

/// Calls a method that both kinds of limiters have, if there is one.
macro_rules! ask_at_once {
    ($limiter:expr, $method:ident($($argument:expr),*), $default:expr) => {
        match $limiter {
            Limiter::None => $default,
            Limiter::AtOnce(limiter) => limiter.$method($($argument),*),
            Limiter::Waits(limiter) => limiter.limiter.$method($($argument),*),
        }
    };
}

impl Limiter {
    /// How many instances, memories and tables there may be.
    fn counts(&self) -> [usize; 3] {
        const MANY: usize = usize::MAX;
        [
            ask_at_once!(self, instances(), MANY),
            ask_at_once!(self, memories(), MANY),
            ask_at_once!(self, tables(), MANY),
        ]
    }

    /// Asks whether something may grow.
    fn ask(&mut self, growth: Growth, context: &mut Context<'_>) -> Decision {
        match self {
            Limiter::None => Decision::Yes,
            Limiter::AtOnce(limiter) => growth.ask(&mut **limiter).into(),
            Limiter::Waits(limiter) => limiter.ask(growth, context),
        }
    }

    /// Whether it was asked something that it has not answered, by somebody who can wait.
    pub fn is_open(&self) -> bool {
        matches!(self, Limiter::Waits(limiter) if limiter.is_open())
    }
}

/// What is asked at once. A limiter that panics has refused.
impl Embedder {
    /// Fails if there may not be so many instances, memories and tables.
    pub fn check_counts(
        &mut self,
        instances: usize,
        memories: usize,
        tables: usize,
    ) -> Result<(), Refused> {
        let [most_instances, most_memories, most_tables] =
            self.ask(|limiter| limiter.counts()).unwrap_or([0; 3]);
        for (count, most, what) in [
            (instances, most_instances, "instances"),
            (memories, most_memories, "memories"),
            (tables, most_tables, "tables"),
        ] {
            if count > most {
                return Err(Refused(format!("{count} {what}: at most {most} are allowed")));
            }
        }
        Ok(())
    }

    /// Tells the limiter that a memory has not grown from so many pages to so many.
    pub fn memory_grow_failed(&mut self, from: u64, to: u64) {
        self.ask(|limiter| ask_at_once!(limiter, memory_grow_failed(bytes(from), bytes(to)), ()));
    }

    /// Whether a stack may grow.
    pub fn stack_growing(&mut self, from: usize, to: usize, bytes: usize) -> bool {
        let ask =
            |limiter: &mut Limiter| ask_at_once!(limiter, stack_growing(from, to, bytes), true);
        self.ask(ask).unwrap_or(false)
    }

    /// Whether the host may own one more reference.
    fn handles_growing(&mut self, from: usize) -> bool {
        let ask =
            |limiter: &mut Limiter| ask_at_once!(limiter, handles_growing(from, from + 1), true);
        self.ask(ask).unwrap_or(false)
    }

    /// Whether there may be one more value of the host.
    pub fn host_values_growing(&mut self, from: usize) -> bool {
        let ask = |limiter: &mut Limiter| {
            ask_at_once!(limiter, host_values_growing(from, from + 1), true)
        };
        self.ask(ask).unwrap_or(false)
    }
}

/// How many bytes so many pages have.
fn bytes(pages: u64) -> usize {
    count(pages.saturating_mul(MemoryType::PAGE_SIZE))
}

fn count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl Store {
    /// Has somebody decide how much there may be.
    pub fn set_limiter(&mut self, limiter: Box<dyn ResourceLimiter>) {
        self.embedder.limiter = Limiter::AtOnce(limiter);
    }

    /// Has somebody decide it who may wait.
    pub fn set_limiter_async(&mut self, limiter: Arc<dyn ResourceLimiterAsync>) {
        self.embedder.limiter = Limiter::Waits(AsyncLimiter::new(limiter));
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

    /// Asks whether something may grow. A limiter that panics has refused.
    pub(crate) fn ask(&mut self, growth: Growth) -> Decision {
        let poller = if self.is_asking { self.poller() } else { NOBODY };
        let asked = self.embedder.ask(|limiter| match poller.is_null() {
            true => limiter.ask(growth, &mut Context::from_waker(Waker::noop())),
            // SAFETY: whoever polls an activation is there as long as that runs.
            false => limiter.ask(growth, unsafe { &mut *(*poller).context }),
        });
        asked.unwrap_or(Decision::No)
    }

    /// Whether a memory or table may grow, where it can be an error that nobody knows yet.
    fn may_grow(&mut self, growth: Growth) -> Result<bool> {
        match self.ask(growth) {
            Decision::Yes => Ok(true),
            Decision::No => Ok(false),
            Decision::Undecided => bail!(Undecided),
            Decision::Fails(error) => Err(error),
        }
    }

    /// What a limiter is asked when a memory grows by so many pages.
    pub fn memory_growth(&self, index: usize, delta: u64) -> Growth {
        let ty = self.memories[index].ty();
        Growth::of_memory(&ty, ty.minimum, ty.minimum.saturating_add(delta))
    }

    /// What a limiter is asked when a table grows by so many elements.
    pub fn table_growth(&self, index: usize, delta: u64) -> Growth {
        let ty = self.tables[index].ty();
        Growth::of_table(&ty, ty.minimum, ty.minimum.saturating_add(delta))
    }

    /// Grows a memory; returns the old size in pages, or nothing if it cannot grow.
    pub fn grow_memory(&mut self, index: usize, delta: u64) -> Result<Option<u64>> {
        if !self.may_grow(self.memory_growth(index, delta))? {
            return Ok(None);
        }
        let from = self.memories[index].size();
        let grown = self.grow_memory_in_total(index, delta);
        if grown.is_none() {
            self.embedder.memory_grow_failed(from, from.saturating_add(delta));
        }
        Ok(grown)
    }

    /// Grows a table; returns the old size, or nothing if it cannot grow.
    pub fn grow_table(&mut self, index: usize, delta: u64, init: u64) -> Result<Option<u64>> {
        match self.may_grow(self.table_growth(index, delta))? {
            true => Ok(self.grow_table_in_total(index, delta, init)),
            false => Ok(None),
        }
    }

    /// Fails unless one more instance may be made.
    pub(crate) fn check_new_instance(&mut self) -> Result<()> {
        let count = self.instances.len();
        if !self.may_grow(Growth::Instances { from: count, to: count + 1 })? {
            bail!(Refused(format!("{} instances", count + 1)));
        }
        Ok(())
    }

    /// Fails unless a new memory may be made.
    pub(crate) fn check_new_memory(&mut self, ty: &MemoryType) -> Result<()> {
        if !self.may_grow(Growth::of_memory(ty, 0, ty.minimum))? {
            bail!(Refused(format!("a memory of {} bytes", bytes(ty.minimum))));
        }
        if !self.has_room_for_pages(ty.minimum) {
            bail!(MemoryError::beyond_total(ty.minimum, self.options.max_total_memory));
        }
        Ok(())
    }

    /// Fails unless a new table may be made.
    pub(crate) fn check_new_table(&mut self, ty: &TableType) -> Result<()> {
        if !self.may_grow(Growth::of_table(ty, 0, ty.minimum))? {
            bail!(Refused(format!("a table of {} elements", ty.minimum)));
        }
        if !self.has_room_for_elements(ty.minimum) {
            let (elements, limit) = (ty.minimum, self.options.tables.total);
            bail!(TableError::TooManyElements { elements, limit });
        }
        Ok(())
    }
}

impl From<Refused> for InstantiateError {
    fn from(refused: Refused) -> InstantiateError {
        InstantiateError::Limiter(refused.into())
    }
}
