//! Structs.

use super::access::{HeapAccess, UNMAPPED};
use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::{CompositeType, FieldType, TrapCode};

impl<'a> Translator<'a> {
    pub(super) fn struct_new(&mut self, ty: u32) {
        let count = self.fields(ty).len();
        let values = self.stack.split_off(self.stack.len() - count);
        self.new_struct(ty, &values);
    }

    pub(super) fn struct_new_default(&mut self, ty: u32) {
        let types = self.fields(ty).iter().map(|field| field.storage.unpacked());
        let values: Vec<Value> = types.map(|ty| self.zero(ty)).collect();
        self.new_struct(ty, &values);
    }

    fn new_struct(&mut self, ty: u32, values: &[Value]) {
        let object = self.allocate(ty, self.env.objects[ty as usize].size);
        for (field, &value) in (0..).zip(values) {
            let at = HeapAccess { null: None, ..self.field(object, ty, field) };
            self.store_place(&at, value);
        }
        self.push_object(object, ty);
    }

    pub(super) fn struct_get(&mut self, ty: u32, field: u32, signed: bool) {
        let reference = self.pop();
        let at = self.checked_field(reference, ty, field);
        let value = self.load_place(&at, signed);
        self.push_typed(value, at.storage.unpacked());
    }

    pub(super) fn struct_set(&mut self, ty: u32, field: u32) {
        let (reference, value) = self.pop2();
        let at = self.checked_field(reference, ty, field);
        self.store_place(&at, value);
    }

    /// The place of a field, with a check for null if the offset is too large for a fault.
    fn checked_field(&mut self, reference: Value, ty: u32, field: u32) -> HeapAccess {
        let at = self.field(reference, ty, field);
        if at.offset.cast_unsigned() < UNMAPPED {
            return at;
        }
        self.ins().trapz(reference, trap(TrapCode::NullStructReference));
        HeapAccess { null: None, ..at }
    }

    fn field(&self, base: Value, ty: u32, field: u32) -> HeapAccess {
        let offset = self.env.objects[ty as usize].offsets[field as usize] as i32;
        let storage = self.fields(ty)[field as usize].storage;
        HeapAccess { base, offset, storage, null: Some(TrapCode::NullStructReference) }
    }

    fn fields(&self, ty: u32) -> &'a [FieldType] {
        match &self.env.info.types[ty as usize].composite {
            CompositeType::Struct(ty) => &ty.fields,
            other => unreachable!("validated to be a struct type, not {other:?}"),
        }
    }
}
