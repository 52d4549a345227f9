//! 31-bit integers: references without an object, in the form of [`i31`](ropewalk_abi::heap::i31).

use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::heap::{I31_SHIFT, I31_TAG};
use ropewalk_abi::{HeapType, RefType, TrapCode, ValType};

const I31: ValType = ValType::Ref(RefType { nullable: false, heap: HeapType::I31 });

impl Translator<'_> {
    pub(super) fn ref_i31(&mut self) {
        let value = self.pop();
        let shifted = self.ins().ishl_imm_u(value, i64::from(I31_SHIFT));
        let tagged = self.ins().bor_imm_u(shifted, i64::from(I31_TAG));
        let reference = self.ins().uextend(I64, tagged);
        self.push_typed(reference, I31);
    }

    pub(super) fn i31_get(&mut self, signed: bool) {
        let reference = self.pop();
        self.ins().trapz(reference, trap(TrapCode::NullI31Reference));
        let tagged = self.ins().ireduce(I32, reference);
        let value = match signed {
            true => self.ins().sshr_imm_u(tagged, i64::from(I31_SHIFT)),
            false => self.ins().ushr_imm_u(tagged, i64::from(I31_SHIFT)),
        };
        self.push(value);
    }

    /// Whether a reference is an `i31`, which null is not.
    pub(super) fn is_i31(&mut self, reference: Value) -> Value {
        let low = self.ins().ireduce(I8, reference);
        self.ins().band_imm_u(low, i64::from(I31_TAG))
    }
}
