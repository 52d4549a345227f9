//! Whether a reference has a type: tests, casts, and branches on casts.
//!
//! All three ask the same questions in the same order, and differ in what they
//! do with the answer, which an [`Answer`] says. So a cast has no more than a
//! comparison and a jump for each question, and no value for the answer.

use super::access::Part;
use crate::convert::{heap_type, ref_type};
use crate::emit::record::func_ref;
use crate::translate::control::block_args;
use crate::translate::owned::Way;
use crate::translate::{Translator, constant_flags, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::{HeapType, RefType, TrapCode, TypeInfo, TypeKind};
use std::mem::offset_of;

/// Whether a reference, known to have the type `from`, has the type `to`.
struct Question {
    reference: Value,
    from: RefType,
    to: RefType,
}

/// What becomes of the answer.
enum Answer {
    /// It is the parameter of the block.
    Value(Block),
    /// Yes continues at the block, no traps.
    Cast(Block),
    /// Each continues somewhere.
    Branch { yes: Target, no: Target },
}

/// A block, and the operands that go there.
type Target = (Block, Vec<Value>);

impl Translator<'_> {
    pub fn ref_test(&mut self, nullable: bool, heap: wasmparser::HeapType) {
        let question = self.question(nullable, heap);
        self.pop();
        let done = self.builder.create_block();
        let answer = self.builder.append_block_param(done, I8);
        self.ask(&question, &Answer::Value(done));
        self.enter_sealed(done);
        let answer = self.builder.ins().uextend(I32, answer);
        self.push(answer);
    }

    pub fn ref_cast(&mut self, nullable: bool, heap: wasmparser::HeapType) {
        let question = self.question(nullable, heap);
        let done = self.builder.create_block();
        self.ask(&question, &Answer::Cast(done));
        self.enter_sealed(done);
    }

    pub fn br_on_cast(&mut self, depth: u32, from: wasmparser::RefType, to: wasmparser::RefType) {
        let way = self.way_to(depth);
        let next = self.builder.create_block();
        let yes = (way.block, way.operands.clone());
        let answer = Answer::Branch { yes, no: (next, vec![]) };
        self.branch_on(from, to, &answer, next, &way);
    }

    pub fn br_on_cast_fail(
        &mut self,
        depth: u32,
        from: wasmparser::RefType,
        to: wasmparser::RefType,
    ) {
        let way = self.way_to(depth);
        let next = self.builder.create_block();
        let no = (way.block, way.operands.clone());
        let answer = Answer::Branch { yes: (next, vec![]), no };
        self.branch_on(from, to, &answer, next, &way);
    }

    fn branch_on(
        &mut self,
        from: wasmparser::RefType,
        to: wasmparser::RefType,
        answer: &Answer,
        next: Block,
        way: &Way,
    ) {
        let (from, to) = (ref_type(from), ref_type(to));
        let question = Question { reference: self.top(1)[0], from, to };
        self.ask(&question, answer);
        self.pave(way);
        self.enter_sealed(next);
    }

    /// The question about the topmost operand, of whose type the instruction
    /// says nothing.
    fn question(&self, nullable: bool, heap: wasmparser::HeapType) -> Question {
        let to = RefType { nullable, heap: heap_type(heap) };
        Question { reference: self.top(1)[0], from: RefType::ANYREF, to }
    }

    // ---- the questions

    /// Asks, and ends the block with what becomes of the answer.
    fn ask(&mut self, question: &Question, answer: &Answer) {
        let &Question { reference, to, .. } = question;
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
                self.is_object_of(question, answer)
            }
        };
        self.answer(answer, fits);
    }

    fn is_any(&mut self, reference: Value, nullable: bool) -> Value {
        match nullable {
            true => self.builder.ins().iconst(I8, 1),
            false => self.builder.ins().icmp_imm_u(IntCC::NotEqual, reference, 0),
        }
    }

    fn is_none(&mut self, reference: Value, nullable: bool) -> Value {
        match nullable {
            true => self.is_null(reference),
            false => self.builder.ins().iconst(I8, 0),
        }
    }

    fn is_i31_or_null(&mut self, reference: Value, nullable: bool) -> Value {
        let is_i31 = self.is_i31(reference);
        if !nullable {
            return is_i31;
        }
        let is_null = self.is_null(reference);
        self.builder.ins().bor(is_i31, is_null)
    }

    fn is_null(&mut self, reference: Value) -> Value {
        self.builder.ins().icmp_imm_u(IntCC::Equal, reference, 0)
    }

    /// Whether what the reference points to has the type. What does not point
    /// to anything is answered before.
    fn is_object_of(&mut self, question: &Question, answer: &Answer) -> Value {
        let &Question { reference, to, .. } = question;
        let null = self.answer_null(question, answer);
        match to.heap {
            HeapType::Concrete(ty) if self.env.info.type_kind(ty) == TypeKind::Func => {
                let actual = self.function_type_info(reference, null);
                self.is_type(actual, ty)
            }
            heap => {
                self.answer_i31(question, answer);
                let actual = self.object_type_info(reference, null);
                self.is_of(actual, heap)
            }
        }
    }

    /// Answers for null, unless the load of its type does by a fault; this says
    /// which trap that is.
    fn answer_null(&mut self, question: &Question, answer: &Answer) -> Option<TrapCode> {
        match answer {
            _ if !question.from.nullable => None,
            Answer::Cast(_) if !question.to.nullable => Some(TrapCode::CastFailure),
            _ => {
                let is_null = self.is_null(question.reference);
                self.answer_if(answer, is_null, question.to.nullable);
                None
            }
        }
    }

    /// Answers for an `i31`, if it can be one.
    fn answer_i31(&mut self, question: &Question, answer: &Answer) {
        if matches!(question.from.heap, HeapType::Any | HeapType::Eq | HeapType::I31) {
            let is_i31 = self.is_i31(question.reference);
            self.answer_if(answer, is_i31, question.to.heap == HeapType::Eq);
        }
    }

    /// Whether objects of a type belong to a heap type.
    fn is_of(&mut self, actual: Value, heap: HeapType) -> Value {
        match heap {
            HeapType::Concrete(ty) => self.is_type(actual, ty),
            HeapType::Struct => self.is_kind(actual, TypeKind::Struct, TypeKind::Struct),
            HeapType::Array => self.is_kind(actual, TypeKind::Array, TypeKind::Array),
            HeapType::Eq => self.is_kind(actual, TypeKind::Struct, TypeKind::Array),
            other => unreachable!("{other} does not depend on the object"),
        }
    }

    /// Whether a type is a subtype of a defined one. That it mostly is that very
    /// one is not asked first: a jump more costs as much as the load that it
    /// saves, and more where types are mixed.
    fn is_type(&mut self, actual: Value, ty: u32) -> Value {
        let expected = self.type_info(ty);
        match self.env.info.types[ty as usize].is_final {
            true => self.builder.ins().icmp(IntCC::Equal, actual, expected),
            false => self.is_subtype(actual, ty, expected),
        }
    }

    /// Whether a type is of a kind from `first` to `last`.
    fn is_kind(&mut self, actual: Value, first: TypeKind, last: TypeKind) -> Value {
        let offset = offset_of!(TypeInfo, kind) as i32;
        let kind = self.builder.ins().load(I8, constant_flags(), actual, offset);
        if first == last {
            return self.builder.ins().icmp_imm_u(IntCC::Equal, kind, first as i64);
        }
        let number = self.builder.ins().iadd_imm_s(kind, -(first as i64));
        let count = last as i64 - first as i64;
        self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, number, count)
    }

    fn object_type_info(&mut self, object: Value, null: Option<TrapCode>) -> Value {
        let flags = self.heap_flags(Part::Head, null);
        self.builder.ins().load(I64, flags, object, 0)
    }

    fn function_type_info(&mut self, function: Value, null: Option<TrapCode>) -> Value {
        let flags = self.heap_flags(Part::Head, null);
        self.builder.ins().load(I64, flags, function, func_ref::TYPE.offset)
    }

    // ---- the answers

    /// Returns if the condition holds; what follows is for when it does not.
    fn answer_if(&mut self, answer: &Answer, condition: Value, yes: bool) {
        if let (Answer::Cast(_), false) = (answer, yes) {
            self.builder.ins().trapnz(condition, trap(TrapCode::CastFailure));
            return;
        }
        let (block, operands) = self.target(answer, yes);
        let next = self.builder.create_block();
        self.builder.ins().brif(condition, block, &block_args(&operands), next, &[]);
        self.enter_sealed(next);
    }

    /// Where an answer goes that is known.
    fn target(&mut self, answer: &Answer, is_yes: bool) -> Target {
        match answer {
            Answer::Value(block) => {
                let value = self.builder.ins().iconst(I8, i64::from(is_yes));
                (*block, vec![value])
            }
            Answer::Cast(block) => (*block, vec![]),
            Answer::Branch { yes, no } => if is_yes { yes } else { no }.clone(),
        }
    }

    /// Answers with a condition.
    fn answer(&mut self, answer: &Answer, condition: Value) {
        match answer {
            Answer::Value(block) => self.jump(*block, &[condition]),
            Answer::Cast(block) => {
                self.builder.ins().trapz(condition, trap(TrapCode::CastFailure));
                self.jump(*block, &[]);
            }
            Answer::Branch { yes, no } => {
                let [then, otherwise] = [yes, no].map(|(_, operands)| block_args(operands));
                self.builder.ins().brif(condition, yes.0, &then, no.0, &otherwise);
            }
        }
    }
}

// One comparison tells both from the others.
const _: () = assert!(TypeKind::Array as u8 == TypeKind::Struct as u8 + 1);
