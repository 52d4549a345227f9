//! Tables.

use super::Translator;
use crate::emit::{constant_flags, program_value, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::{Builtin, TableDef, TrapCode, ValType};
use std::mem::offset_of;

impl Translator<'_> {
    /// The address of the element at an index; traps with `code` beyond the end.
    pub(super) fn element_address(&mut self, table: u32, index: Value, code: TrapCode) -> Value {
        let index = self.widen(index);
        let len = self.table_len(table);
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.ins().trapnz(outside, trap(code));
        let base = self.table_base(table);
        let offset = self.ins().ishl_imm_u(index, 3);
        self.ins().iadd(base, offset)
    }

    /// The size of a table that cannot grow.
    fn fixed_size(&self, table: u32) -> Option<u64> {
        let ty = &self.env.info.tables[table as usize];
        (ty.maximum == Some(ty.minimum)).then_some(ty.minimum)
    }

    fn table_def(&mut self, table: u32) -> (Value, i32) {
        if table < self.env.info.imported_tables {
            let offset = self.env.layout.imported_table(table);
            return (self.load_constant(self.context, offset), 0);
        }
        (self.context, self.env.layout.defined_table(table))
    }

    fn table_base(&mut self, table: u32) -> Value {
        let (def, offset) = self.table_def(table);
        let flags = match self.fixed_size(table) {
            Some(_) => constant_flags(),
            None => MemFlagsData::trusted(),
        };
        let offset = offset + offset_of!(TableDef, base) as i32;
        self.ins().load(I64, flags, def, offset)
    }

    fn table_len(&mut self, table: u32) -> Value {
        if let Some(len) = self.fixed_size(table) {
            return self.ins().iconst(I64, len as i64);
        }
        let (def, offset) = self.table_def(table);
        let offset = offset + offset_of!(TableDef, len) as i32;
        self.ins().load(I64, program_value(MemFlagsData::trusted()), def, offset)
    }

    fn is_table32(&self, table: u32) -> bool {
        !self.env.info.tables[table as usize].table64
    }

    pub(super) fn table_get(&mut self, table: u32) {
        let index = self.pop();
        let at = self.element_address(table, index, TrapCode::TableOutOfBounds);
        let flags = program_value(MemFlagsData::trusted());
        let value = self.ins().load(I64, flags, at, 0);
        let element = self.env.info.tables[table as usize].element;
        self.push_typed(value, ValType::Ref(element));
    }

    pub(super) fn table_set(&mut self, table: u32) {
        let (index, value) = self.pop2();
        let at = self.element_address(table, index, TrapCode::TableOutOfBounds);
        self.ins().store(MemFlagsData::trusted(), value, at, 0);
    }

    pub(super) fn table_size(&mut self, table: u32) {
        let len = self.table_len(table);
        let len = self.narrow_if(self.is_table32(table), len);
        self.push(len);
    }

    pub(super) fn table_grow(&mut self, table: u32) {
        let (init, delta) = self.pop2();
        let delta = self.widen(delta);
        let table_value = self.index(u64::from(table));
        let size = self.call_builtin(Builtin::table_grow, &[table_value, init, delta]);
        let size = self.narrow_if(self.is_table32(table), size);
        self.push(size);
    }
}
