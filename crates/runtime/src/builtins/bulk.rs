//! Builtins for memories and tables.

use super::{Calling, Pair, Result, pieces, range};
use crate::store::interrupts::Interrupts;
use crate::store::objects::Objects;
use crate::store::running::Ending;
use crate::vm::memory::Memory;
use crate::vm::table::Table;
use ropewalk_abi::TrapCode;
use std::ops::Range;

/// How bulk instructions access memories or tables.
struct Storage<C, T: 'static> {
    items: fn(&C) -> &[T],
    items_mut: fn(&mut C) -> &mut [T],
    out_of_bounds: TrapCode,
}

const MEMORY: Storage<Memory, u8> = Storage {
    items: Memory::data,
    items_mut: Memory::data_mut,
    out_of_bounds: TrapCode::MemoryOutOfBounds,
};

const TABLE: Storage<Table, u64> = Storage {
    items: Table::elements,
    items_mut: Table::elements_mut,
    out_of_bounds: TrapCode::TableOutOfBounds,
};

impl<C, T: Copy> Storage<C, T> {
    fn range(&self, items: &[T], start: u64, len: u64) -> Result<Range<usize>> {
        range(start, len, items.len()).ok_or(self.out_of_bounds)
    }

    fn copy(
        &self,
        interrupts: &Interrupts,
        all: &mut [C],
        [to_index, from_index]: [usize; 2],
        [to, from, len]: [u64; 3],
    ) -> Result<()> {
        let from = self.range((self.items)(&all[from_index]), from, len)?;
        let to = self.range((self.items)(&all[to_index]), to, len)?;
        let Ok([target, source]) = all.get_disjoint_mut([to_index, from_index]) else {
            let items = (self.items_mut)(&mut all[to_index]);
            return pieces::copy_within(interrupts, items, from, to.start);
        };
        pieces::copy(interrupts, &mut (self.items_mut)(target)[to], &(self.items)(source)[from])
    }

    fn fill(
        &self,
        interrupts: &Interrupts,
        target: &mut C,
        to: u64,
        value: T,
        len: u64,
    ) -> Result<()> {
        let items = (self.items_mut)(target);
        let to = self.range(items, to, len)?;
        pieces::fill(interrupts, &mut items[to], value)
    }

    fn init(
        &self,
        interrupts: &Interrupts,
        target: &mut C,
        segment: &[T],
        [to, from, len]: [u64; 3],
    ) -> Result<()> {
        let items = (self.items_mut)(target);
        let from = self.range(segment, from, len)?;
        let to = self.range(items, to, len)?;
        pieces::copy(interrupts, &mut items[to], &segment[from])
    }
}

/// The result -1 of `memory.grow` and `table.grow`.
const FAILED: u64 = u64::MAX;

impl Calling<'_> {
    pub(super) fn memory_grow(
        &mut self,
        memory: u64,
        pages: u64,
    ) -> std::result::Result<u64, Ending> {
        let memory = self.memory_index(memory);
        let grown = self.store.grow_memory(memory, pages).map_err(Ending::Error)?;
        Ok(grown.unwrap_or(FAILED))
    }

    pub(super) fn memory_copy(
        &mut self,
        memories: Pair,
        to: u64,
        from: u64,
        len: u64,
    ) -> Result<()> {
        let indices = memories.map(|memory| self.memory_index(memory));
        let (objects, interrupts) = self.objects_and_interrupts();
        MEMORY.copy(interrupts, &mut objects.memories, indices, [to, from, len])
    }

    pub(super) fn memory_fill(&mut self, memory: u64, to: u64, byte: u64, len: u64) -> Result<()> {
        let memory = self.memory_index(memory);
        let (objects, interrupts) = self.objects_and_interrupts();
        MEMORY.fill(interrupts, &mut objects.memories[memory], to, byte as u8, len)
    }

    pub(super) fn memory_init(
        &mut self,
        [memory, segment]: Pair,
        to: u64,
        from: u64,
        len: u64,
    ) -> Result<()> {
        let (memory, instance) = (self.memory_index(memory), self.instance);
        let (Objects { memories, instances, .. }, interrupts) = self.objects_and_interrupts();
        let segment = instances[instance].data_segment(segment as usize);
        MEMORY.init(interrupts, &mut memories[memory], segment, [to, from, len])
    }

    pub(super) fn data_drop(&mut self, segment: u64) -> Result<()> {
        self.instance().drop_data(segment as usize);
        Ok(())
    }

    pub(super) fn table_grow(
        &mut self,
        table: u64,
        init: u64,
        delta: u64,
    ) -> std::result::Result<u64, Ending> {
        let table = self.table_index(table);
        let grown = self.store.grow_table(table, delta, init).map_err(Ending::Error)?;
        Ok(grown.unwrap_or(FAILED))
    }

    pub(super) fn table_copy(&mut self, tables: Pair, to: u64, from: u64, len: u64) -> Result<()> {
        let indices = tables.map(|table| self.table_index(table));
        let (objects, interrupts) = self.objects_and_interrupts();
        TABLE.copy(interrupts, &mut objects.tables, indices, [to, from, len])
    }

    pub(super) fn table_fill(&mut self, table: u64, to: u64, value: u64, len: u64) -> Result<()> {
        let table = self.table_index(table);
        let (objects, interrupts) = self.objects_and_interrupts();
        TABLE.fill(interrupts, &mut objects.tables[table], to, value, len)
    }

    pub(super) fn table_init(
        &mut self,
        [table, segment]: Pair,
        to: u64,
        from: u64,
        len: u64,
    ) -> Result<()> {
        let (table, instance) = (self.table_index(table), self.instance);
        let (Objects { tables, instances, .. }, interrupts) = self.objects_and_interrupts();
        let segment = &instances[instance].elements[segment as usize];
        TABLE.init(interrupts, &mut tables[table], segment, [to, from, len])
    }

    pub(super) fn elem_drop(&mut self, segment: u64) -> Result<()> {
        self.instance().elements[segment as usize] = Vec::new();
        Ok(())
    }
}
