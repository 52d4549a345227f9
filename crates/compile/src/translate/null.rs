//! Null, which is never kept in a frame.
//!
//! At a call, every reference that is needed afterwards is put into the frame, where the
//! collector finds it, and loaded again. Null needs neither: it is made where it is used.

use super::Translator;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types::*,
};

impl Translator<'_> {
    /// A null reference.
    pub(crate) fn null(&mut self) -> Value {
        self.has_nulls = true;
        self.builder.ins().iconst(I64, 0)
    }

    /// Whether a value is the constant null.
    pub(crate) fn is_null_constant(&self, value: Value) -> bool {
        let dfg = &self.builder.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(dfg.resolve_aliases(value)) else {
            return false;
        };
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                imm.bits() == 0 && dfg.value_type(value) == I64
            }
            _ => false,
        }
    }

    /// Gives every use of null a constant of its own, right before it.
    pub(super) fn separate_nulls(&mut self) {
        if !self.has_nulls {
            return;
        }
        let mut users: Vec<Inst> = Vec::new();
        let func = &*self.builder.func;
        for block in func.layout.blocks() {
            let uses = |inst: &Inst| func.dfg.inst_values(*inst).any(|v| self.is_null_constant(v));
            users.extend(func.layout.block_insts(block).filter(uses));
        }
        for inst in users {
            let null = FuncCursor::new(self.builder.func).at_inst(inst).ins().iconst(I64, 0);
            let dfg = &self.builder.func.dfg;
            let values = dfg.inst_values(inst);
            let values: Vec<Value> =
                values.map(|v| if self.is_null_constant(v) { null } else { v }).collect();
            self.builder.func.dfg.overwrite_inst_values(inst, values.into_iter());
        }
    }
}
