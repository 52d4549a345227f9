//! Type tests, casts, and branches on casts.
//!
//! All three make the same checks in the same order, and differ in how they use the result, which
//! an [`Outcome`] describes. So a cast needs only a comparison and a jump for each check, and no
//! value for the result.

use super::access::HeapRegion;
use crate::emit::record::func_ref;
use crate::emit::{constant_flags, trap};
use crate::module::convert::{heap_type, ref_type};
use crate::translate::Translator;
use crate::translate::control::block_args;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::{HeapType, RefType, TrapCode, TypeInfo, TypeKind};
use std::mem::offset_of;

/// Checks whether a reference of the type `from` has the type `to`.
struct Check {
    reference: Value,
    from: RefType,
    to: RefType,
}

/// How the result of a check is used.
enum Outcome {
    /// It is passed to the block.
    Value(Block),
    /// Success continues at the block, failure traps.
    Cast(Block),
    /// Both continue at a target.
    Branch { yes: Target, no: Target },
}

/// A block, and the operands that it gets.
type Target = (Block, Vec<Value>);

impl Translator<'_> {
    pub(super) fn ref_test(&mut self, nullable: bool, heap: wasmparser::HeapType) {
        let check = self.check(nullable, heap);
        self.pop();
        let done = self.builder.create_block();
        let is_of_type = self.builder.append_block_param(done, I8);
        self.emit_check(&check, &Outcome::Value(done));
        self.enter_sealed(done);
        let is_of_type = self.ins().uextend(I32, is_of_type);
        self.push(is_of_type);
    }

    pub(super) fn ref_cast(&mut self, nullable: bool, heap: wasmparser::HeapType) {
        let check = self.check(nullable, heap);
        let done = self.builder.create_block();
        self.emit_check(&check, &Outcome::Cast(done));
        self.enter_sealed(done);
    }

    /// Branches if a cast succeeds, or if it fails.
    pub(super) fn br_on_cast(
        &mut self,
        succeeds: bool,
        depth: u32,
        from: wasmparser::RefType,
        to: wasmparser::RefType,
    ) {
        let target = self.branch_target(depth);
        let next = self.builder.create_block();
        let (branch, stay) = ((target.block, target.operands.clone()), (next, vec![]));
        let (yes, no) = if succeeds { (branch, stay) } else { (stay, branch) };
        let (from, to) = (ref_type(from), ref_type(to));
        let check = Check { reference: self.top(1)[0], from, to };
        self.emit_check(&check, &Outcome::Branch { yes, no });
        self.emit_intermediate(&target);
        self.enter_sealed(next);
    }

    /// The check of the topmost operand, whose type the instruction does not name.
    fn check(&self, nullable: bool, heap: wasmparser::HeapType) -> Check {
        let to = RefType { nullable, heap: heap_type(heap) };
        Check { reference: self.top(1)[0], from: RefType::ANYREF, to }
    }

    // ---- checks

    /// Emits a check, and ends the block with its outcome.
    fn emit_check(&mut self, check: &Check, outcome: &Outcome) {
        let &Check { reference, to, .. } = check;
        let fits = match to.heap {
            HeapType::Any | HeapType::Extern | HeapType::Exn | HeapType::Func | HeapType::Cont => {
                self.is_any(reference, to.nullable)
            }
            HeapType::None
            | HeapType::NoExtern
            | HeapType::NoExn
            | HeapType::NoFunc
            | HeapType::NoCont => self.is_none(reference, to.nullable),
            HeapType::I31 => self.is_i31_or_null(reference, to.nullable),
            HeapType::Eq | HeapType::Struct | HeapType::Array | HeapType::Concrete(_) => {
                self.is_object_of(check, outcome)
            }
        };
        self.end_check(outcome, fits);
    }

    fn is_any(&mut self, reference: Value, nullable: bool) -> Value {
        match nullable {
            true => self.ins().iconst(I8, 1),
            false => self.ins().icmp_imm_u(IntCC::NotEqual, reference, 0),
        }
    }

    fn is_none(&mut self, reference: Value, nullable: bool) -> Value {
        match nullable {
            true => self.is_null(reference),
            false => self.ins().iconst(I8, 0),
        }
    }

    fn is_i31_or_null(&mut self, reference: Value, nullable: bool) -> Value {
        let is_i31 = self.is_i31(reference);
        if !nullable {
            return is_i31;
        }
        let is_null = self.is_null(reference);
        self.ins().bor(is_i31, is_null)
    }

    fn is_null(&mut self, reference: Value) -> Value {
        self.ins().icmp_imm_u(IntCC::Equal, reference, 0)
    }

    /// Whether the object of a reference has the type. References without an object are handled
    /// before.
    fn is_object_of(&mut self, check: &Check, outcome: &Outcome) -> Value {
        let &Check { reference, to, .. } = check;
        let null = self.check_null(check, outcome);
        match to.heap {
            HeapType::Concrete(ty) if self.env.info.type_kind(ty) == TypeKind::Func => {
                let actual = self.function_type_info(reference, null);
                self.is_type(actual, ty)
            }
            heap => {
                self.check_i31(check, outcome);
                let actual = self.object_type_info(reference, null);
                self.is_of(actual, heap)
            }
        }
    }

    /// Handles null, unless the load of its type faults; returns the trap for that.
    fn check_null(&mut self, check: &Check, outcome: &Outcome) -> Option<TrapCode> {
        match outcome {
            _ if !check.from.nullable => None,
            Outcome::Cast(_) if !check.to.nullable => Some(TrapCode::CastFailure),
            _ => {
                let is_null = self.is_null(check.reference);
                self.end_check_if(outcome, is_null, check.to.nullable);
                None
            }
        }
    }

    /// Handles an `i31`, if the reference can be one.
    fn check_i31(&mut self, check: &Check, outcome: &Outcome) {
        if matches!(check.from.heap, HeapType::Any | HeapType::Eq | HeapType::I31) {
            let is_i31 = self.is_i31(check.reference);
            self.end_check_if(outcome, is_i31, check.to.heap == HeapType::Eq);
        }
    }

    /// Whether objects of the type `actual` belong to a heap type.
    fn is_of(&mut self, actual: Value, heap: HeapType) -> Value {
        match heap {
            HeapType::Concrete(ty) => self.is_type(actual, ty),
            HeapType::Struct => self.is_kind(actual, TypeKind::Struct, TypeKind::Struct),
            HeapType::Array => self.is_kind(actual, TypeKind::Array, TypeKind::Array),
            HeapType::Eq => self.is_kind(actual, TypeKind::Struct, TypeKind::Array),
            other => unreachable!("{other} does not depend on the object"),
        }
    }

    /// Whether a type is a subtype of a defined one. It usually is the same type, but a check for
    /// that would cost as much as the load that it saves, and more where types are mixed.
    fn is_type(&mut self, actual: Value, ty: u32) -> Value {
        let expected = self.type_info(ty);
        match self.env.info.types[ty as usize].is_final {
            true => self.ins().icmp(IntCC::Equal, actual, expected),
            false => self.is_subtype(actual, ty, expected),
        }
    }

    fn is_kind(&mut self, actual: Value, first: TypeKind, last: TypeKind) -> Value {
        let offset = offset_of!(TypeInfo, kind) as i32;
        let kind = self.ins().load(I8, constant_flags(), actual, offset);
        if first == last {
            return self.ins().icmp_imm_u(IntCC::Equal, kind, first as i64);
        }
        let number = self.ins().iadd_imm_s(kind, -(first as i64));
        let count = last as i64 - first as i64;
        self.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, number, count)
    }

    fn object_type_info(&mut self, object: Value, null: Option<TrapCode>) -> Value {
        let flags = self.heap_flags(HeapRegion::Head, null);
        self.ins().load(I64, flags, object, 0)
    }

    fn function_type_info(&mut self, function: Value, null: Option<TrapCode>) -> Value {
        let flags = self.heap_flags(HeapRegion::Head, null);
        self.ins().load(I64, flags, function, func_ref::TYPE.offset)
    }

    // ---- outcomes

    /// Ends the check with a known result if a condition holds. Otherwise falls through.
    fn end_check_if(&mut self, outcome: &Outcome, condition: Value, yes: bool) {
        if let (Outcome::Cast(_), false) = (outcome, yes) {
            self.ins().trapnz(condition, trap(TrapCode::CastFailure));
            return;
        }
        let (block, operands) = self.target(outcome, yes);
        let next = self.builder.create_block();
        self.ins().brif(condition, block, &block_args(&operands), next, &[]);
        self.enter_sealed(next);
    }

    /// The target for a known result.
    fn target(&mut self, outcome: &Outcome, is_yes: bool) -> Target {
        match outcome {
            Outcome::Value(block) => {
                let value = self.ins().iconst(I8, i64::from(is_yes));
                (*block, vec![value])
            }
            Outcome::Cast(block) => (*block, vec![]),
            Outcome::Branch { yes, no } => if is_yes { yes } else { no }.clone(),
        }
    }

    /// Ends the check with a condition as the result.
    fn end_check(&mut self, outcome: &Outcome, condition: Value) {
        match outcome {
            Outcome::Value(block) => self.jump(*block, &[condition]),
            Outcome::Cast(block) => {
                self.ins().trapz(condition, trap(TrapCode::CastFailure));
                self.jump(*block, &[]);
            }
            Outcome::Branch { yes, no } => {
                let [then, otherwise] = [yes, no].map(|(_, operands)| block_args(operands));
                self.ins().brif(condition, yes.0, &then, no.0, &otherwise);
            }
        }
    }
}

// One comparison checks for both.
const _: () = assert!(TypeKind::Array as u8 == TypeKind::Struct as u8 + 1);
