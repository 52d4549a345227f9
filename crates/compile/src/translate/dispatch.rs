//! Calls one function for each operator.

use super::Translator;
use super::memory::pair;
use cranelift_codegen::ir::types::*;
use ropewalk_abi::Builtin;
use wasmparser::Operator;

impl Translator<'_> {
    /// Translates a valid operator, unless it switches stacks; returns whether it did. The engine's
    /// features disable all operators [without a translation](super::operator_coverage).
    #[must_use]
    pub(crate) fn operator(&mut self, op: &Operator<'_>) -> bool {
        if !self.is_reachable() {
            self.unreachable_operator(op);
            return true;
        }
        self.core(op) || self.memory(op) || self.numeric(op) || self.gc(op) || self.simd(op)
    }

    /// In unreachable code, only the starts and ends of blocks matter.
    fn unreachable_operator(&mut self, op: &Operator<'_>) {
        match op {
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::TryTable { .. } => self.open_unreachable(),
            Operator::Else => self.else_(),
            Operator::End => self.end(),
            _ => {}
        }
    }

    /// Control, calls, variables, references and tables.
    fn core(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::Nop => {}
            Operator::Unreachable => self.unreachable(),
            Operator::Block { blockty } => self.block(*blockty),
            Operator::Loop { blockty } => self.loop_(*blockty),
            Operator::If { blockty } => self.if_(*blockty),
            Operator::Else => self.else_(),
            Operator::End => self.end(),
            Operator::Br { relative_depth } => self.br(*relative_depth),
            Operator::BrIf { relative_depth } => self.br_if(*relative_depth),
            Operator::BrTable { targets } => self.br_table(targets),
            Operator::Return => self.return_(),
            Operator::TryTable { try_table } => self.try_table(try_table),
            Operator::Throw { tag_index } => self.throw(*tag_index),
            Operator::ThrowRef => self.throw_ref(),

            Operator::Drop => drop(self.pop()),
            Operator::Select => self.select(None),
            Operator::TypedSelect { ty } => self.select(Some(*ty)),

            Operator::LocalGet { local_index } => self.local_get(*local_index),
            Operator::LocalSet { local_index } => self.local_set(*local_index),
            Operator::LocalTee { local_index } => self.local_tee(*local_index),
            Operator::GlobalGet { global_index } => self.global_get(*global_index),
            Operator::GlobalSet { global_index } => self.global_set(*global_index),

            Operator::RefNull { .. } => self.ref_null(),
            Operator::RefIsNull => self.ref_is_null(),
            Operator::RefFunc { function_index } => self.ref_func(*function_index),
            Operator::RefAsNonNull => self.ref_as_non_null(),
            Operator::BrOnNull { relative_depth } => self.br_on_null(*relative_depth),
            Operator::BrOnNonNull { relative_depth } => self.br_on_non_null(*relative_depth),

            Operator::TableGet { table } => self.table_get(*table),
            Operator::TableSet { table } => self.table_set(*table),
            Operator::TableSize { table } => self.table_size(*table),
            Operator::TableGrow { table } => self.table_grow(*table),
            Operator::TableFill { table } => self.bulk(Builtin::table_fill, u64::from(*table)),
            Operator::TableCopy { dst_table, src_table } => {
                self.bulk(Builtin::table_copy, pair(*dst_table, *src_table));
            }
            Operator::TableInit { elem_index, table } => {
                self.bulk(Builtin::table_init, pair(*table, *elem_index));
            }
            Operator::ElemDrop { elem_index } => self.drop_segment(Builtin::elem_drop, *elem_index),
            _ => return self.calls(op),
        }
        true
    }

    /// Scalar memory instructions.
    fn memory(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::I32Load { memarg } => self.load(I32, memarg),
            Operator::I64Load { memarg } => self.load(I64, memarg),
            Operator::F32Load { memarg } => self.load(F32, memarg),
            Operator::F64Load { memarg } => self.load(F64, memarg),
            Operator::I32Load8S { memarg } => self.load_extend(I32, I8, true, memarg),
            Operator::I32Load8U { memarg } => self.load_extend(I32, I8, false, memarg),
            Operator::I32Load16S { memarg } => self.load_extend(I32, I16, true, memarg),
            Operator::I32Load16U { memarg } => self.load_extend(I32, I16, false, memarg),
            Operator::I64Load8S { memarg } => self.load_extend(I64, I8, true, memarg),
            Operator::I64Load8U { memarg } => self.load_extend(I64, I8, false, memarg),
            Operator::I64Load16S { memarg } => self.load_extend(I64, I16, true, memarg),
            Operator::I64Load16U { memarg } => self.load_extend(I64, I16, false, memarg),
            Operator::I64Load32S { memarg } => self.load_extend(I64, I32, true, memarg),
            Operator::I64Load32U { memarg } => self.load_extend(I64, I32, false, memarg),
            Operator::I32Store { memarg }
            | Operator::I64Store { memarg }
            | Operator::F32Store { memarg }
            | Operator::F64Store { memarg } => self.store(memarg),
            Operator::I32Store8 { memarg } | Operator::I64Store8 { memarg } => {
                self.store_narrow(I8, memarg);
            }
            Operator::I32Store16 { memarg } | Operator::I64Store16 { memarg } => {
                self.store_narrow(I16, memarg);
            }
            Operator::I64Store32 { memarg } => self.store_narrow(I32, memarg),

            Operator::MemorySize { mem } => self.memory_size(*mem),
            Operator::MemoryGrow { mem } => self.memory_grow(*mem),
            Operator::MemoryCopy { dst_mem, src_mem } => self.memory_copy(*dst_mem, *src_mem),
            Operator::MemoryFill { mem } => self.memory_fill(*mem),
            Operator::MemoryInit { data_index, mem } => {
                self.bulk(Builtin::memory_init, pair(*mem, *data_index));
            }
            Operator::DataDrop { data_index } => self.drop_segment(Builtin::data_drop, *data_index),
            _ => return false,
        }
        true
    }
}
