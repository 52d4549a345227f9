//! Bulk instructions on arrays.
//!
//! The runtime does most of the work, including the checks for null and bounds. A few bytes are
//! copied without it.

use crate::emit::record::store;
use crate::emit::trap;
use crate::translate::Translator;
use crate::translate::memory::pair;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::heap::ARRAY_ELEMENTS;
use ropewalk_abi::{Builtin, TrapCode};

impl Translator<'_> {
    pub(super) fn array_from_segment(&mut self, builtin: Builtin, ty: u32, segment: u32) {
        let (from, len) = self.pop2();
        let operands = [self.index(pair(ty, segment)), self.widen(from), self.widen(len)];
        let array = self.call_builtin(builtin, &operands);
        self.push_object(array, ty);
    }

    pub(super) fn array_fill(&mut self) {
        let [array, to, value, len] = self.pop_all();
        self.pass(value);
        let to_and_len = self.join(to, len);
        self.call_builtin(Builtin::array_fill, &[array, to_and_len]);
    }

    pub(super) fn array_copy(&mut self, ty: u32) {
        let [to, to_index, from, from_index, len] = self.pop_all();
        let many = [to, self.widen(to_index), from, self.join(from_index, len)];
        let [to_len, from_len] = [to, from].map(|array| self.length(array));
        let len = self.widen(len);
        let shift = i64::from(self.element_storage(ty).size().trailing_zeros());
        let to = self.elements(to, to_len, to_index, len, shift);
        let from = self.elements(from, from_len, from_index, len, shift);
        let bytes = self.ins().ishl_imm_u(len, shift);
        let few = store::COPY_BYTES;
        self.few_or_many(few, &[to, from, bytes], |this| {
            this.call_builtin(Builtin::array_copy, &many);
        });
    }

    /// The address of `len` elements from an index on. Traps beyond the end.
    fn elements(
        &mut self,
        array: Value,
        array_len: Value,
        index: Value,
        len: Value,
        shift: i64,
    ) -> Value {
        let (index, array_len) = (self.widen(index), self.widen(array_len));
        let end = self.ins().iadd(index, len);
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThan, end, array_len);
        self.ins().trapnz(outside, trap(TrapCode::ArrayOutOfBounds));
        let distance = self.ins().ishl_imm_u(index, shift);
        let start = self.ins().iadd(array, distance);
        self.ins().iadd_imm_s(start, i64::from(ARRAY_ELEMENTS))
    }

    pub(super) fn array_init(&mut self, builtin: Builtin, segment: u32) {
        let [array, to, from, len] = self.pop_all();
        let segment = self.index(u64::from(segment));
        let operands = [segment, array, self.widen(to), self.join(from, len)];
        self.call_builtin(builtin, &operands);
    }

    /// Two 32-bit operands as one word: `high << 32 | low`.
    fn join(&mut self, high: Value, low: Value) -> Value {
        let (high, low) = (self.widen(high), self.widen(low));
        let high = self.ins().ishl_imm_u(high, 32);
        self.ins().bor(high, low)
    }

    /// Pops operands, the first one pushed first.
    fn pop_all<const COUNT: usize>(&mut self) -> [Value; COUNT] {
        let operands = self.stack.split_off(self.stack.len() - COUNT);
        operands.try_into().expect("as many as were split off")
    }
}
