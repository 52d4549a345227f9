//! Arrays: allocation, and access to single elements.

use super::access::{HeapAccess, HeapRegion};
use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value, types::*};
use ropewalk_abi::heap::{ARRAY_ELEMENTS, ARRAY_LENGTH, array_size};
use ropewalk_abi::{Builtin, CompositeType, StorageType, TrapCode};

/// Arrays of at most this many bytes are allocated in line if their length is constant.
const SMALL_ARRAY: u64 = 16 << 10;
/// Arrays of at most this many equal elements are filled in line.
const FEW_ELEMENTS: u32 = 16;

impl Translator<'_> {
    // ---- making arrays

    pub(super) fn array_new(&mut self, ty: u32) {
        let (value, len) = self.pop2();
        if let Some(len) = self.few(len) {
            return self.new_array(ty, &vec![value; len]);
        }
        self.pass(value);
        self.array_from_runtime(Builtin::array_new, ty, len);
    }

    pub(super) fn array_new_default(&mut self, ty: u32) {
        let len = self.pop();
        if let Some(len) = self.few(len) {
            let zero = self.zero(self.element_storage(ty).unpacked());
            return self.new_array(ty, &vec![zero; len]);
        }
        self.array_from_runtime(Builtin::array_new_default, ty, len);
    }

    pub(super) fn array_new_fixed(&mut self, ty: u32, len: u32) {
        let values = self.stack.split_off(self.stack.len() - len as usize);
        self.new_array(ty, &values);
    }

    /// Pushes a new array of these elements.
    fn new_array(&mut self, ty: u32, values: &[Value]) {
        let len = self.ins().iconst(I32, values.len() as i64);
        let size = array_size(self.element_storage(ty).size(), values.len() as u32);
        if size > SMALL_ARRAY {
            self.array_from_runtime(Builtin::array_new_default, ty, len);
        } else {
            let array = self.allocate(ty, size as u32);
            let flags = self.heap_flags(HeapRegion::Head, None);
            self.ins().store(flags, len, array, ARRAY_LENGTH as i32);
            self.push_object(array, ty);
        }
        let array = *self.stack.last().expect("just pushed");
        self.store_elements(array, ty, values);
    }

    fn store_elements(&mut self, array: Value, ty: u32, values: &[Value]) {
        let storage = self.element_storage(ty);
        let offsets = (ARRAY_ELEMENTS..).step_by(storage.size() as usize);
        for (&value, offset) in values.iter().zip(offsets) {
            let at = HeapAccess { base: array, offset: offset as i32, storage, null: None };
            self.store_place(&at, value);
        }
    }

    /// Calls a builtin for a new array, and pushes it.
    fn array_from_runtime(&mut self, builtin: Builtin, ty: u32, len: Value) {
        let operands = [self.type_info(ty), self.widen(len)];
        let array = self.call_builtin(builtin, &operands);
        self.push_object(array, ty);
    }

    /// The value of a length that is constant, and small enough to store the elements in line.
    fn few(&self, len: Value) -> Option<usize> {
        let dfg = &self.builder.func.dfg;
        let inst = dfg.value_def(len).inst()?;
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                let len = imm.bits() as u32;
                (len <= FEW_ELEMENTS).then_some(len as usize)
            }
            _ => None,
        }
    }

    /// Passes a value of any type to a builtin, in the transfer area.
    pub(super) fn pass(&mut self, value: Value) {
        self.transfer().put_word(0, value);
    }

    // ---- access

    pub(super) fn array_get(&mut self, ty: u32, signed: bool) {
        let (array, index) = self.pop2();
        let at = self.element(array, ty, index);
        let value = self.load_place(&at, signed);
        self.push_typed(value, at.storage.unpacked());
    }

    pub(super) fn array_set(&mut self, ty: u32) {
        let (array, index, value) = self.pop3();
        let at = self.element(array, ty, index);
        self.store_place(&at, value);
    }

    pub(super) fn array_len(&mut self) {
        let array = self.pop();
        let len = self.length(array);
        self.push(len);
    }

    /// The length of an array. Null faults on the load.
    pub(super) fn length(&mut self, array: Value) -> Value {
        let flags = self.heap_flags(HeapRegion::Head, Some(TrapCode::NullArrayReference));
        self.ins().load(I32, flags, array, ARRAY_LENGTH as i32)
    }

    /// The place of the element at an index. Traps beyond the end, and for null.
    fn element(&mut self, array: Value, ty: u32, index: Value) -> HeapAccess {
        let len = self.length(array);
        let outside = self.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        self.ins().trapnz(outside, trap(TrapCode::ArrayOutOfBounds));
        let storage = self.element_storage(ty);
        let index = self.widen(index);
        let shift = storage.size().trailing_zeros();
        let distance = self.ins().ishl_imm_u(index, i64::from(shift));
        let base = self.ins().iadd(array, distance);
        HeapAccess { base, offset: ARRAY_ELEMENTS as i32, storage, null: None }
    }

    pub(super) fn element_storage(&self, ty: u32) -> StorageType {
        match &self.env.info.types[ty as usize].composite {
            CompositeType::Array(ty) => ty.element.storage,
            other => unreachable!("validated to be an array type, not {other:?}"),
        }
    }
}
