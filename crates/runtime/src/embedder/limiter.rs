//! The limiter of a store, with which an embedder bounds resources while they grow.

use super::async_limiter::AsyncLimiter;
use super::{Embedder, Growth};
use anyhow::Result;
use ropewalk_abi::MemoryType;
use std::task::Context;

/// Decides how much a store may have.
///
/// The engine asks it before something grows. If the limiter refuses, `memory.grow` and
/// `table.grow` return -1, as the specification says, and other instructions trap. If the limiter
/// fails, the call fails with its error. A refusal during the instantiation of a module is an
/// error.
///
/// The engine can call it while the store is being changed, so it only gets numbers. A panic counts
/// as a refusal, and continues in the code that asked for more.
///
/// `StoreLimits` is an implementation with fixed limits.
pub trait ResourceLimiter: Send + Sync {
    /// Whether a linear memory may grow, in bytes. A new memory grows from zero. `maximum` is that
    /// of its type, if it has one.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool>;

    /// A memory could not grow, although it was allowed to.
    fn memory_grow_failed(&mut self, _current: usize, _desired: usize) {}

    /// Whether a table may grow, in elements.
    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool>;

    /// Whether the number of stacks may grow. Roots do not count. `bytes` is the resulting size of
    /// all stacks, as `Config::max_stack_memory` counts them. After a refusal the store parks idle
    /// stacks and asks again. After a second one, the instruction that makes a stack traps with
    /// `too many stacks`.
    fn stacks_growing(&mut self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether one stack, which can be a root, may grow, in bytes. `bytes` is the resulting size of
    /// all stacks. The store first asks for twice the stack's size, and after a refusal for what is
    /// needed now. After a second refusal the call traps with `call stack exhausted`.
    ///
    /// WebAssembly is interrupted at any instruction, and this runs on the host's stack, like a
    /// host function.
    fn stack_growing(&mut self, _current: usize, _desired: usize, _bytes: usize) -> bool {
        true
    }

    /// Whether the objects of the heap may grow, in bytes. After a refusal the allocation traps
    /// with `out of memory`.
    fn heap_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether there may be more host values, such as those of an `externref`. After a refusal
    /// making one fails with `out of memory`.
    fn host_values_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// Whether the host may own more references (`Owned`). After a refusal the store removes those
    /// without owners and asks again. After a second one, making the reference is an error.
    /// References that a typed call returns count, but are never refused.
    fn handles_growing(&mut self, _current: usize, _desired: usize) -> bool {
        true
    }

    /// The maximum number of instances.
    fn instances(&self) -> usize {
        usize::MAX
    }

    /// The maximum number of memories.
    fn memories(&self) -> usize {
        usize::MAX
    }

    /// The maximum number of tables.
    fn tables(&self) -> usize {
        usize::MAX
    }
}

/// An error: the limiter refused.
#[derive(Debug, thiserror::Error)]
#[error("the limiter of the store refuses {0}")]
pub struct Refused(pub(crate) String);

/// An error: the limiter has not decided yet, and the call cannot wait.
#[derive(Debug, thiserror::Error)]
#[error(
    "the limiter of the store has not decided yet, and this call cannot wait for it: use the \
     function whose name ends in `_async`"
)]
pub struct Undecided;

#[derive(Default)]
pub(crate) enum Limiter {
    #[default]
    None,
    /// It decides at once.
    Sync(Box<dyn ResourceLimiter>),
    /// It may wait.
    Async(AsyncLimiter),
}

/// The decision of a limiter.
pub(crate) enum Decision {
    Yes,
    No,
    /// There is no decision yet. The caller either cannot wait, or is suspended and asks again
    /// later.
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

/// Calls a method that both limiter traits have. Without a limiter, uses the default.
macro_rules! ask_at_once {
    ($limiter:expr, $method:ident($($argument:expr),*), $default:expr) => {
        match $limiter {
            Limiter::None => $default,
            Limiter::Sync(limiter) => limiter.$method($($argument),*),
            Limiter::Async(limiter) => limiter.limiter.$method($($argument),*),
        }
    };
}

impl Limiter {
    /// The maximum numbers of instances, memories and tables.
    fn counts(&self) -> [usize; 3] {
        const MANY: usize = usize::MAX;
        [
            ask_at_once!(self, instances(), MANY),
            ask_at_once!(self, memories(), MANY),
            ask_at_once!(self, tables(), MANY),
        ]
    }

    pub fn ask(&mut self, growth: Growth, context: &mut Context<'_>) -> Decision {
        match self {
            Limiter::None => Decision::Yes,
            Limiter::Sync(limiter) => growth.ask(&mut **limiter).into(),
            Limiter::Async(limiter) => limiter.ask(growth, context),
        }
    }

    /// Whether a question is pending whose caller can wait.
    pub fn is_open(&self) -> bool {
        matches!(self, Limiter::Async(limiter) if limiter.is_open())
    }
}

/// Questions that are decided at once. A limiter that panics has refused.
impl Embedder {
    /// Fails if the limiter does not allow this many instances, memories and tables.
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

    /// Reports a memory that could not grow, in pages.
    pub fn memory_grow_failed(&mut self, from: u64, to: u64) {
        self.ask(|limiter| ask_at_once!(limiter, memory_grow_failed(bytes(from), bytes(to)), ()));
    }

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

    /// Whether there may be one more host value.
    pub fn host_values_growing(&mut self, from: usize) -> bool {
        let ask = |limiter: &mut Limiter| {
            ask_at_once!(limiter, host_values_growing(from, from + 1), true)
        };
        self.ask(ask).unwrap_or(false)
    }
}

/// The size of this many pages, in bytes.
pub(crate) fn bytes(pages: u64) -> usize {
    count(pages.saturating_mul(MemoryType::PAGE_SIZE))
}

pub(super) fn count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
