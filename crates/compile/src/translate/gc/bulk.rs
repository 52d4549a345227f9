//! Arrays, many elements at a time. The runtime does all of it, the checks for
//! null and bounds too; these only bring the operands into its order.

use crate::translate::Translator;
use crate::translate::memory::pair;
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::Builtin;

impl Translator<'_> {
    pub fn array_new_data(&mut self, ty: u32, segment: u32) {
        self.array_from_segment(Builtin::array_new_data, ty, segment);
    }

    pub fn array_new_elem(&mut self, ty: u32, segment: u32) {
        self.array_from_segment(Builtin::array_new_elem, ty, segment);
    }

    fn array_from_segment(&mut self, builtin: Builtin, ty: u32, segment: u32) {
        let (from, len) = self.pop2();
        let operands = [self.index(pair(ty, segment)), self.widen(from), self.widen(len)];
        let array = self.call_builtin(builtin, &operands);
        self.push_object(array, ty);
    }

    pub fn array_fill(&mut self) {
        let [array, to, value, len] = self.pop_all();
        self.pass(value);
        let to_and_len = self.join(to, len);
        self.call_builtin(Builtin::array_fill, &[array, to_and_len]);
    }

    pub fn array_copy(&mut self) {
        let [to, to_index, from, from_index, len] = self.pop_all();
        let operands = [to, self.widen(to_index), from, self.join(from_index, len)];
        self.call_builtin(Builtin::array_copy, &operands);
    }

    pub fn array_init_data(&mut self, segment: u32) {
        self.array_init(Builtin::array_init_data, segment);
    }

    pub fn array_init_elem(&mut self, segment: u32) {
        self.array_init(Builtin::array_init_elem, segment);
    }

    fn array_init(&mut self, builtin: Builtin, segment: u32) {
        let [array, to, from, len] = self.pop_all();
        let segment = self.index(u64::from(segment));
        let operands = [segment, array, self.widen(to), self.join(from, len)];
        self.call_builtin(builtin, &operands);
    }

    /// Two 32-bit operands as one word: `high << 32 | low`.
    fn join(&mut self, high: Value, low: Value) -> Value {
        let (high, low) = (self.widen(high), self.widen(low));
        let high = self.builder.ins().ishl_imm_u(high, 32);
        self.builder.ins().bor(high, low)
    }

    /// Pops operands, the first one pushed first.
    fn pop_all<const COUNT: usize>(&mut self) -> [Value; COUNT] {
        let operands = self.stack.split_off(self.stack.len() - COUNT);
        operands.try_into().expect("as many as were split off")
    }
}
