//! Memories, tables and host values that the host makes.

use crate::heap::NoMemory;
use crate::store::Store;
use crate::vm::memory::Memory;
use crate::vm::table::Table;
use ropewalk_abi::heap::EXTERN_SIZE;
use ropewalk_abi::{TrapCode, ValType};
use std::any::Any;

impl Store {
    /// Makes a memory that belongs to no instance.
    pub fn add_memory(&mut self, ty: ropewalk_abi::MemoryType) -> anyhow::Result<usize> {
        self.embedder.check_counts(0, self.objects.memories.len() + 1, 0)?;
        self.check_new_memory(&ty)?;
        let memory = Memory::standalone(ty, &self.options.memories);
        let memory = memory.inspect_err(|_| self.embedder.memory_grow_failed(0, ty.minimum))?;
        self.objects.memories.push(memory);
        Ok(self.objects.memories.len() - 1)
    }

    /// Makes a table that belongs to no instance.
    pub fn add_table(&mut self, ty: ropewalk_abi::TableType, init: u64) -> anyhow::Result<usize> {
        self.embedder.check_counts(0, 0, self.objects.tables.len() + 1)?;
        self.check_new_table(&ty)?;
        let is_collected = self.options.types.is_collected(ValType::Ref(ty.element));
        let limit = self.options.tables.elements;
        self.objects.tables.push(Table::standalone(ty, is_collected, init, limit)?);
        Ok(self.objects.tables.len() - 1)
    }

    /// Makes a reference to a host value.
    pub fn add_extern(&mut self, value: Box<dyn Any + Send + Sync>) -> Result<u64, TrapCode> {
        if !self.embedder.host_values_growing(self.heap.externs.count()) {
            return Err(self.heap.refuse(NoMemory::Limiter));
        }
        self.heap.externs.make_room()?;
        let object = self.allocate(self.options.types.extern_info(), u64::from(EXTERN_SIZE))?;
        let number = self.heap.externs.add(value);
        object.set_extern_number(number);
        Ok(object.reference())
    }
}
