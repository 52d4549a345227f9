//! What a store may have: an embedder decides it while things grow.

use crate::instance::InstantiateError;
use crate::store::Store;
use anyhow::{Result, bail};
use ropewalk_abi::{MemoryType, TableType};

/// Decides how much a store may have.
///
/// It is asked before something grows. If it says no, what asks for more gets what the
/// specification says: `memory.grow` and `table.grow` return -1, and others trap. If it
/// fails, the call fails with that error. What cannot be had while a module is
/// instantiated is an error.
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
    /// The stack has just met its guard, and WebAssembly waits at any instruction: this
    /// runs in a handler of signals, on a stack of 64 KiB.
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

/// The limiter of a store, if it has one.
#[derive(Default)]
pub(crate) struct Limiter(pub Option<Box<dyn ResourceLimiter>>);

impl Limiter {
    /// Fails if there may not be one more instance, or so many more memories and tables.
    pub fn check_counts(
        &self,
        instances: usize,
        memories: usize,
        tables: usize,
    ) -> Result<(), Refused> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        for (count, most, what) in [
            (instances, limiter.instances(), "instances"),
            (memories, limiter.memories(), "memories"),
            (tables, limiter.tables(), "tables"),
        ] {
            if count > most {
                return Err(Refused(format!("{count} {what}: at most {most} are allowed")));
            }
        }
        Ok(())
    }

    fn memory_growing(&mut self, ty: &MemoryType, from: u64, to: u64) -> Result<bool> {
        let Some(limiter) = &mut self.0 else { return Ok(true) };
        let maximum = ty.maximum.map(bytes);
        limiter.memory_growing(bytes(from), bytes(to), maximum)
    }

    pub fn memory_grow_failed(&mut self, from: u64, to: u64) {
        if let Some(limiter) = &mut self.0 {
            limiter.memory_grow_failed(bytes(from), bytes(to));
        }
    }

    fn table_growing(&mut self, ty: &TableType, from: u64, to: u64) -> Result<bool> {
        let Some(limiter) = &mut self.0 else { return Ok(true) };
        limiter.table_growing(count(from), count(to), ty.maximum.map(count))
    }

    pub fn stacks_growing(&mut self, from: usize, to: usize, bytes: usize) -> bool {
        self.0.as_mut().is_none_or(|limiter| limiter.stacks_growing(from, to, bytes))
    }

    pub fn stack_growing(&mut self, from: usize, to: usize, bytes: usize) -> bool {
        self.0.as_mut().is_none_or(|limiter| limiter.stack_growing(from, to, bytes))
    }

    pub fn heap_growing(&mut self, from: usize, to: usize) -> bool {
        from >= to || self.0.as_mut().is_none_or(|limiter| limiter.heap_growing(from, to))
    }

    fn handles_growing(&mut self, from: usize) -> bool {
        self.0.as_mut().is_none_or(|limiter| limiter.handles_growing(from, from + 1))
    }

    pub fn host_values_growing(&mut self, from: usize) -> bool {
        self.0.as_mut().is_none_or(|limiter| limiter.host_values_growing(from, from + 1))
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
        self.limiter = Limiter(Some(limiter));
    }

    /// Fails unless the host may own one more reference.
    pub fn check_new_handle(&mut self) -> Result<(), Refused> {
        let roots = &mut self.heap.roots;
        if self.limiter.handles_growing(roots.count_owned()) {
            return Ok(());
        }
        roots.forget_without_owners();
        let count = roots.count_owned();
        match self.limiter.handles_growing(count) {
            true => Ok(()),
            false => Err(Refused(format!("{} references that the host owns", count + 1))),
        }
    }

    /// Grows a memory; returns the old size in pages, or nothing if it cannot grow.
    pub fn grow_memory(&mut self, index: usize, delta: u64) -> Result<Option<u64>> {
        let memory = &mut self.memories[index];
        let (from, to) = (memory.size(), memory.size().saturating_add(delta));
        if !self.limiter.memory_growing(&memory.ty(), from, to)? {
            return Ok(None);
        }
        let grown = memory.grow(delta);
        if grown.is_none() {
            self.limiter.memory_grow_failed(from, to);
        }
        Ok(grown)
    }

    /// Grows a table; returns the old size, or nothing if it cannot grow.
    pub fn grow_table(&mut self, index: usize, delta: u64, init: u64) -> Result<Option<u64>> {
        let table = &mut self.tables[index];
        let from = table.elements().len() as u64;
        match self.limiter.table_growing(&table.ty(), from, from.saturating_add(delta))? {
            true => Ok(table.grow(delta, init)),
            false => Ok(None),
        }
    }

    /// Fails unless a new memory may be made.
    pub(crate) fn check_new_memory(&mut self, ty: &MemoryType) -> Result<()> {
        if !self.limiter.memory_growing(ty, 0, ty.minimum)? {
            bail!(Refused(format!("a memory of {} bytes", bytes(ty.minimum))));
        }
        Ok(())
    }

    /// Fails unless a new table may be made.
    pub(crate) fn check_new_table(&mut self, ty: &TableType) -> Result<()> {
        if !self.limiter.table_growing(ty, 0, ty.minimum)? {
            bail!(Refused(format!("a table of {} elements", ty.minimum)));
        }
        Ok(())
    }
}

impl From<Refused> for InstantiateError {
    fn from(refused: Refused) -> InstantiateError {
        InstantiateError::Limiter(refused.into())
    }
}
