//! Garbage collection: structs, arrays, `i31`, and casts.
//!
//! A reference is a 64-bit word: the address of an object, an `i31` with the lowest bit set, or
//! zero for null. [`ropewalk_abi::heap`] draws the objects. Collections move objects, and happen
//! only during calls. References on the operand stack survive them, since stack maps list them. An
//! address inside an object does not, so none is kept across a call.

mod access;
mod allocate;
mod array;
mod bulk;
mod cast;
mod i31;
mod structure;

use super::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::{Builtin, HeapType, RefType, ValType};
use wasmparser::Operator;

impl Translator<'_> {
    /// The instructions of garbage collection.
    pub(in crate::translate) fn gc(&mut self, op: &Operator<'_>) -> bool {
        match op {
            Operator::RefEq => self.ref_eq(),
            // These do not change the word.
            Operator::AnyConvertExtern | Operator::ExternConvertAny => {}
            Operator::RefI31 => self.ref_i31(),
            Operator::I31GetS => self.i31_get(true),
            Operator::I31GetU => self.i31_get(false),
            _ => {
                return self.structure(op)
                    || self.array(op)
                    || self.array_bulk(op)
                    || self.cast(op);
            }
        }
        true
    }

    fn structure(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::StructNew { struct_type_index } => self.struct_new(struct_type_index),
            Operator::StructNewDefault { struct_type_index } => {
                self.struct_new_default(struct_type_index);
            }
            Operator::StructGet { struct_type_index, field_index }
            | Operator::StructGetU { struct_type_index, field_index } => {
                self.struct_get(struct_type_index, field_index, false);
            }
            Operator::StructGetS { struct_type_index, field_index } => {
                self.struct_get(struct_type_index, field_index, true);
            }
            Operator::StructSet { struct_type_index, field_index } => {
                self.struct_set(struct_type_index, field_index);
            }
            _ => return false,
        }
        true
    }

    fn array(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::ArrayNew { array_type_index } => self.array_new(array_type_index),
            Operator::ArrayNewDefault { array_type_index } => {
                self.array_new_default(array_type_index);
            }
            Operator::ArrayNewFixed { array_type_index, array_size } => {
                self.array_new_fixed(array_type_index, array_size);
            }
            Operator::ArrayGet { array_type_index } | Operator::ArrayGetU { array_type_index } => {
                self.array_get(array_type_index, false);
            }
            Operator::ArrayGetS { array_type_index } => self.array_get(array_type_index, true),
            Operator::ArraySet { array_type_index } => self.array_set(array_type_index),
            Operator::ArrayLen => self.array_len(),
            _ => return false,
        }
        true
    }

    fn array_bulk(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::ArrayNewData { array_type_index, array_data_index } => {
                self.array_from_segment(
                    Builtin::array_new_data,
                    array_type_index,
                    array_data_index,
                );
            }
            Operator::ArrayNewElem { array_type_index, array_elem_index } => {
                self.array_from_segment(
                    Builtin::array_new_elem,
                    array_type_index,
                    array_elem_index,
                );
            }
            Operator::ArrayFill { .. } => self.array_fill(),
            Operator::ArrayCopy { array_type_index_dst, .. } => {
                self.array_copy(array_type_index_dst);
            }
            Operator::ArrayInitData { array_data_index, .. } => {
                self.array_init(Builtin::array_init_data, array_data_index);
            }
            Operator::ArrayInitElem { array_elem_index, .. } => {
                self.array_init(Builtin::array_init_elem, array_elem_index);
            }
            _ => return false,
        }
        true
    }

    fn cast(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::RefTestNonNull { hty } => self.ref_test(false, hty),
            Operator::RefTestNullable { hty } => self.ref_test(true, hty),
            Operator::RefCastNonNull { hty } => self.ref_cast(false, hty),
            Operator::RefCastNullable { hty } => self.ref_cast(true, hty),
            Operator::BrOnCast { relative_depth, from_ref_type, to_ref_type } => {
                self.br_on_cast(true, relative_depth, from_ref_type, to_ref_type);
            }
            Operator::BrOnCastFail { relative_depth, from_ref_type, to_ref_type } => {
                self.br_on_cast(false, relative_depth, from_ref_type, to_ref_type);
            }
            _ => return false,
        }
        true
    }

    fn ref_eq(&mut self) {
        let (a, b) = self.pop2();
        let equal = self.ins().icmp(IntCC::Equal, a, b);
        let equal = self.ins().uextend(I32, equal);
        self.push(equal);
    }

    /// Pushes a reference to a new object.
    fn push_object(&mut self, object: Value, ty: u32) {
        let ty = RefType { nullable: false, heap: HeapType::Concrete(ty) };
        self.push_typed(object, ValType::Ref(ty));
    }
}
