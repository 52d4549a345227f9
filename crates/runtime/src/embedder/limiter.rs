//! What a store may have: an embedder decides it while things grow.

use super::async_limiter::AsyncLimiter;
use super::{Embedder, Growth};
use anyhow::Result;
use ropewalk_abi::MemoryType;
use std::task::Context;

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
pub struct Refused(pub(crate) String);

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
    pub fn ask(&mut self, growth: Growth, context: &mut Context<'_>) -> Decision {
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
    pub fn handles_growing(&mut self, from: usize) -> bool {
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
pub(crate) fn bytes(pages: u64) -> usize {
    count(pages.saturating_mul(MemoryType::PAGE_SIZE))
}

pub(super) fn count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
