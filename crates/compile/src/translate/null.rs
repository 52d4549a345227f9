//! Null, which is never stored in a frame.
//!
//! At a call, every live reference is stored in the frame for the collector, and reloaded
//! afterwards. Null needs neither: it is made again at each use.

use super::Translator;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Inst, InstBuilder, Value, types::*};

impl Translator<'_> {
    pub(super) fn null(&mut self) -> Value {
        self.has_nulls = true;
        self.ins().iconst(I64, 0)
    }

    pub(super) fn is_null_constant(&self, value: Value) -> bool {
        self.builder.func.dfg.value_type(value) == I64 && self.constant(value) == Some(0)
    }

    /// Gives every use of null its own constant, right before it.
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
