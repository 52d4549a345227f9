//! Linear memories.

use crate::store::{self, AsContext, AsContextMut};
use anyhow::{Result, bail, ensure};
use ropewalk_abi::MemoryType;
use ropewalk_runtime::{Store as RuntimeStore, StoreId};

/// A memory of a store.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    store: StoreId,
    index: usize,
}

impl Memory {
    /// A new memory that belongs to no instance.
    pub fn new(mut store: impl AsContextMut, ty: MemoryType) -> Result<Memory> {
        let limit = ty.address_limit();
        if ty.maximum.is_some_and(|maximum| maximum < ty.minimum) {
            bail!("the maximum of a memory must not be less than its minimum: {ty}");
        }
        ensure!(
            ty.minimum <= limit && ty.maximum.unwrap_or(0) <= limit,
            "a memory of this type has at most {limit} pages: {ty}"
        );
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = runtime.add_memory(ty)?;
        Ok(Memory::from_index(runtime, index))
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Memory {
        Memory { store: runtime.id(), index }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<usize> {
        store::check(runtime, self.store, "memory")?;
        Ok(self.index)
    }

    /// Its type; the minimum is the present size.
    pub fn ty(&self, store: impl AsContext) -> Result<MemoryType> {
        let runtime = store.as_context().runtime();
        Ok(runtime.memory(self.in_store(runtime)?).ty())
    }

    /// Its size in pages of 64 KiB.
    pub fn size(&self, store: impl AsContext) -> Result<u64> {
        Ok(self.ty(store)?.minimum)
    }

    /// Grows it by some pages; returns the old size.
    pub fn grow(&self, mut store: impl AsContextMut, pages: u64) -> Result<u64> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = self.in_store(runtime)?;
        match runtime.grow_memory(index, pages)? {
            Some(old) => Ok(old),
            None => {
                let ty = runtime.memory(index).ty();
                bail!("cannot grow a memory of type {ty} by {pages} pages")
            }
        }
    }

    /// Its bytes.
    pub fn data<'a, C: AsContext>(&self, store: &'a C) -> Result<&'a [u8]> {
        let runtime = store.as_context().runtime();
        Ok(runtime.memory(self.in_store(runtime)?).data())
    }

    /// Its bytes, to change them.
    pub fn data_mut<'a, C: AsContextMut>(&self, store: &'a mut C) -> Result<&'a mut [u8]> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = self.in_store(runtime)?;
        Ok(runtime.memory_mut(index).data_mut())
    }

    /// Its bytes to change them, and the host's data.
    pub fn data_and_store_mut<'a, C: AsContextMut>(
        &self,
        store: &'a mut C,
    ) -> Result<(&'a mut [u8], &'a mut C::Data)> {
        let (runtime, data) = store.as_context_mut().into_parts();
        let index = self.in_store(runtime)?;
        Ok((runtime.memory_mut(index).data_mut(), data))
    }

    /// Copies bytes out of it.
    pub fn read(&self, store: impl AsContext, offset: usize, buffer: &mut [u8]) -> Result<()> {
        let data = self.data(&store)?;
        let range = checked_range(offset, buffer.len(), data.len())?;
        buffer.copy_from_slice(&data[range]);
        Ok(())
    }

    /// Copies bytes into it.
    pub fn write(&self, mut store: impl AsContextMut, offset: usize, bytes: &[u8]) -> Result<()> {
        let data = self.data_mut(&mut store)?;
        let range = checked_range(offset, bytes.len(), data.len())?;
        data[range].copy_from_slice(bytes);
        Ok(())
    }
}

fn checked_range(offset: usize, len: usize, size: usize) -> Result<std::ops::Range<usize>> {
    match offset.checked_add(len).filter(|end| *end <= size) {
        Some(end) => Ok(offset..end),
        None => bail!("{len} bytes at offset {offset} exceed the memory's {size} bytes"),
    }
}
