//! Linear memories.

use crate::misuse::{Bounded, OutOfBounds};
use crate::store::{self, AsContext, AsContextMut};
use anyhow::{Result, bail, ensure};
use ropewalk_abi::MemoryType;
use ropewalk_runtime::{Growth, Store as RuntimeStore, StoreId};
use std::ops::Range;

/// A memory of a store.
///
/// Strings that the host passes to WebAssembly and gets back, each as an address and a length:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (memory (export "memory") 1)
///       (data (i32.const 16) "Hello, ")
///       (global $free (mut i32) (i32.const 1024))
///       (func (export "alloc") (param $size i32) (result i32)
///         (global.get $free)
///         (global.set $free (i32.add (global.get $free) (local.get $size))))
///       ;; Puts the greeting before a name, and returns where that begins, and its length.
///       (func (export "greet") (param $name i32) (param $len i32) (result i32 i32)
///         (memory.copy (i32.const 512) (i32.const 16) (i32.const 7))
///         (memory.copy (i32.const 519) (local.get $name) (local.get $len))
///         (i32.const 512)
///         (i32.add (local.get $len) (i32.const 7))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let memory = instance.get_memory(&mut store, "memory").unwrap();
/// let alloc = instance.get_typed_func::<u32, u32>(&mut store, "alloc")?;
/// let greet = instance.get_typed_func::<(u32, u32), (u32, u32)>(&mut store, "greet")?;
///
/// let name = "Wörld";
/// let at = alloc.call(&mut store, name.len() as u32)?;
/// memory.write(&mut store, at as usize, name.as_bytes())?;
/// let (at, len) = greet.call(&mut store, (at, name.len() as u32))?;
/// let mut greeting = vec![0; len as usize];
/// memory.read(&store, at as usize, &mut greeting)?;
/// assert_eq!(String::from_utf8(greeting)?, "Hello, Wörld");
/// # Ok::<(), Error>(())
/// ```
///
/// In a host function, [`Caller::get_export`](crate::Caller::get_export) gives the memory of the
/// calling instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    store: StoreId,
    index: usize,
}

impl Memory {
    /// A new memory that belongs to no instance.
    pub fn new(mut store: impl AsContextMut, ty: MemoryType) -> Result<Memory> {
        Memory::check_type(&ty)?;
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = runtime.with_embedder(|runtime| runtime.add_memory(ty))?;
        Ok(Memory::from_index(runtime, index))
    }

    /// As [`new`](Self::new), in a future, which waits for the decision of an async
    /// [limiter](crate::Store::limiter_async).
    pub async fn new_async(
        mut store: impl AsContextMut<Data: Send>,
        ty: MemoryType,
    ) -> Result<Memory> {
        Memory::check_type(&ty)?;
        let mut store = store.as_context_mut();
        let growth = Growth::of_memory(&ty, 0, ty.minimum);
        let answers = store.0.runtime.ask_first(vec![growth]).await?;
        store.with_answers(answers, |store| Memory::new(store, ty))
    }

    fn check_type(ty: &MemoryType) -> Result<()> {
        let limit = ty.address_limit();
        if ty.maximum.is_some_and(|maximum| maximum < ty.minimum) {
            bail!("the maximum of a memory must not be less than its minimum, found {ty}");
        }
        ensure!(
            ty.minimum <= limit && ty.maximum.unwrap_or(0) <= limit,
            "a memory of this type has at most {limit} pages, found {ty}"
        );
        Ok(())
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Memory {
        Memory { store: runtime.id(), index }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<usize> {
        store::check(runtime, self.store, "memory")?;
        Ok(self.index)
    }

    /// Its type. The minimum is the current size.
    pub fn ty(&self, store: impl AsContext) -> Result<MemoryType> {
        let runtime = store.as_context().runtime();
        Ok(runtime.objects.memory(self.in_store(runtime)?).ty())
    }

    /// Its size in pages of 64 KiB.
    pub fn size(&self, store: impl AsContext) -> Result<u64> {
        Ok(self.ty(store)?.minimum)
    }

    /// Its size in bytes.
    pub fn data_size(&self, store: impl AsContext) -> Result<usize> {
        Ok(self.data(&store)?.len())
    }

    /// The size of a page: 64 KiB.
    pub fn page_size(&self) -> u64 {
        MemoryType::PAGE_SIZE
    }

    /// Grows it by this many pages. Returns the old size in pages.
    pub fn grow(&self, mut store: impl AsContextMut, pages: u64) -> Result<u64> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = self.in_store(runtime)?;
        match runtime.with_embedder(|runtime| runtime.grow_memory(index, pages))? {
            Some(old) => Ok(old),
            None => {
                let ty = runtime.objects.memory(index).ty();
                bail!("cannot grow a memory of type {ty} by {pages} pages")
            }
        }
    }

    /// As [`grow`](Self::grow), in a future, which waits for the decision of an async
    /// [limiter](crate::Store::limiter_async).
    pub async fn grow_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        pages: u64,
    ) -> Result<u64> {
        let mut store = store.as_context_mut();
        let runtime = &store.0.runtime;
        let growth = runtime.memory_growth(self.in_store(runtime)?, pages);
        let answers = runtime.ask_first(vec![growth]).await?;
        store.with_answers(answers, |store| self.grow(store, pages))
    }

    /// Its bytes.
    pub fn data<'a, C: AsContext>(&self, store: &'a C) -> Result<&'a [u8]> {
        let runtime = store.as_context().runtime();
        Ok(runtime.objects.memory(self.in_store(runtime)?).data())
    }

    /// Its bytes, mutably.
    pub fn data_mut<'a, C: AsContextMut>(&self, store: &'a mut C) -> Result<&'a mut [u8]> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let index = self.in_store(runtime)?;
        Ok(runtime.objects.memory_mut(index).data_mut())
    }

    /// Its bytes and the host's data, both mutably.
    pub fn data_and_store_mut<'a, C: AsContextMut>(
        &self,
        store: &'a mut C,
    ) -> Result<(&'a mut [u8], &'a mut C::Data)> {
        let (runtime, data) = store.as_context_mut().into_parts();
        let index = self.in_store(runtime)?;
        Ok((runtime.objects.memory_mut(index).data_mut(), data))
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

fn checked_range(offset: usize, len: usize, size: usize) -> Result<Range<usize>, OutOfBounds> {
    OutOfBounds::range(Bounded::Memory, offset as u64, len as u64, size as u64)
}
