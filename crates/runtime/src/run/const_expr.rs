//! Evaluates constant expressions, which can allocate objects.

use crate::code::types::RegisteredType;
use crate::heap::{Object, write_storage};
use crate::store::Store;
use crate::vm::const_value::ConstValue;
use ropewalk_abi::heap::{array_size, i31};
use ropewalk_abi::module::{ConstExpr, ConstOp};
use ropewalk_abi::{CompositeType, RawVal, StorageType, TrapCode};
use std::sync::Arc;

impl Store {
    /// The value of an expression of an instance's module.
    pub(crate) fn evaluate(
        &mut self,
        instance: usize,
        expr: &ConstExpr,
    ) -> Result<RawVal, TrapCode> {
        let height = self.objects.const_stack.len();
        let result = expr.0.iter().try_for_each(|op| self.evaluate_op(instance, *op));
        let value = self.objects.const_stack.pop();
        self.objects.const_stack.truncate(height);
        result?;
        Ok(value.expect("validation keeps the stack balanced").raw())
    }

    fn evaluate_op(&mut self, instance: usize, op: ConstOp) -> Result<(), TrapCode> {
        let number = ConstValue::Other;
        let value = match op {
            ConstOp::I32(value) => number(RawVal::from_u32(value as u32)),
            ConstOp::I64(value) => number(RawVal::from_u64(value as u64)),
            ConstOp::F32(bits) => number(RawVal::from_u32(bits)),
            ConstOp::F64(bits) => number(RawVal::from_u64(bits)),
            ConstOp::V128(bytes) => number(RawVal::from_u128(u128::from_le_bytes(bytes))),
            ConstOp::RefNull => number(RawVal::ZERO),
            ConstOp::RefFunc(function) => {
                let reference = self.objects.instances[instance].func_ref(function).as_ptr() as u64;
                number(RawVal::from_u64(reference))
            }
            ConstOp::GlobalGet(global) => self.global_value(instance, global),
            ConstOp::I32Add => self.binary32(u32::wrapping_add),
            ConstOp::I32Sub => self.binary32(u32::wrapping_sub),
            ConstOp::I32Mul => self.binary32(u32::wrapping_mul),
            ConstOp::I64Add => self.binary64(u64::wrapping_add),
            ConstOp::I64Sub => self.binary64(u64::wrapping_sub),
            ConstOp::I64Mul => self.binary64(u64::wrapping_mul),
            ConstOp::RefI31 => number(RawVal::from_u64(i31(self.pop_const().u32()))),
            ConstOp::StructNew(ty) => self.const_struct(instance, ty, true)?,
            ConstOp::StructNewDefault(ty) => self.const_struct(instance, ty, false)?,
            ConstOp::ArrayNew(ty) => {
                let len = self.pop_const().u32();
                self.const_array(instance, ty, len, Elements::Repeated)?
            }
            ConstOp::ArrayNewDefault(ty) => {
                let len = self.pop_const().u32();
                self.const_array(instance, ty, len, Elements::Zero)?
            }
            ConstOp::ArrayNewFixed(ty, len) => {
                self.const_array(instance, ty, len, Elements::Listed)?
            }
        };
        self.objects.const_stack.push(value);
        Ok(())
    }

    fn pop_const(&mut self) -> RawVal {
        self.objects.const_stack.pop().expect("validation keeps the stack balanced").raw()
    }

    fn binary32(&mut self, op: fn(u32, u32) -> u32) -> ConstValue {
        let (b, a) = (self.pop_const().u32(), self.pop_const().u32());
        ConstValue::Other(RawVal::from_u32(op(a, b)))
    }

    fn binary64(&mut self, op: fn(u64, u64) -> u64) -> ConstValue {
        let (b, a) = (self.pop_const().u64(), self.pop_const().u64());
        ConstValue::Other(RawVal::from_u64(op(a, b)))
    }

    fn global_value(&self, instance: usize, global: u32) -> ConstValue {
        let item = self.objects.instances[instance].global(global);
        // SAFETY: the global belongs to the store.
        let value = unsafe { item.place.get(self) };
        match self.options.types.is_collected(item.ty.content) {
            true => ConstValue::Reference(value.u64()),
            false => ConstValue::Other(value),
        }
    }

    /// A type of an instance's module.
    pub(crate) fn module_type(&self, instance: usize, ty: u32) -> Arc<RegisteredType> {
        let module = self.objects.instances[instance].module();
        self.options.types.get(module.type_ids[ty as usize])
    }

    fn const_struct(
        &mut self,
        instance: usize,
        ty: u32,
        with_fields: bool,
    ) -> Result<ConstValue, TrapCode> {
        let ty = self.module_type(instance, ty);
        let object = self.allocate(ty.info(), u64::from(ty.layout().size))?;
        if with_fields {
            let CompositeType::Struct(fields) = &ty.ty().composite else {
                unreachable!("validated to be a struct type");
            };
            let places = fields.fields.iter().zip(&ty.layout().offsets).rev();
            for (field, offset) in places {
                let value = self.pop_const();
                // SAFETY: the layout has room for the value.
                unsafe { write_storage(object.at(*offset), field.storage, &value) };
            }
        }
        Ok(ConstValue::Reference(object.reference()))
    }

    fn const_array(
        &mut self,
        instance: usize,
        ty: u32,
        len: u32,
        elements: Elements,
    ) -> Result<ConstValue, TrapCode> {
        let ty = self.module_type(instance, ty);
        let CompositeType::Array(array) = ty.ty().composite else {
            unreachable!("validated to be an array type");
        };
        let storage = array.element.storage;
        let object = self.allocate(ty.info(), array_size(storage.size(), len))?;
        object.set_len(len);
        match elements {
            Elements::Zero => {}
            Elements::Repeated => {
                let value = self.pop_const();
                (0..len).for_each(|index| write_element(object, index, storage, &value));
            }
            Elements::Listed => {
                for index in (0..len).rev() {
                    let value = self.pop_const();
                    write_element(object, index, storage, &value);
                }
            }
        }
        Ok(ConstValue::Reference(object.reference()))
    }
}

/// The elements of a new array.
enum Elements {
    Zero,
    /// One value from the stack.
    Repeated,
    /// All values from the stack.
    Listed,
}

fn write_element(array: Object, index: u32, storage: StorageType, value: &RawVal) {
    debug_assert!(index < array.len());
    // SAFETY: the index is less than the length.
    unsafe { write_storage(array.element(index), storage, value) }
}
