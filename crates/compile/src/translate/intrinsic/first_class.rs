//! First-class stacks.
//!
//! A stack that switches notes which events the `try_table`s around catch, as
//! a list of clauses. An event that is in the list of its receiver goes
//! straight to the label, like that of a fiber; any other is thrown there by
//! the runtime.

use super::find_event;
use crate::intrinsic::FirstClassOp;
use crate::intrinsic::form::Use;
use crate::signature;
use crate::translate::call::Callee;
use crate::translate::continuation::Delivery;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::builtin::{LEAVE_FREED, LEAVE_SUSPENDED};
use ropewalk_abi::stack::{StackKind, StackState};
use ropewalk_abi::{Builtin, ControlBlock, StoreContext, TrapCode, ValType};
use std::mem::offset_of;
use wasmparser::Operator;

const KIND: StackKind = StackKind::FirstClass;

/// How much room a stack must have for a word on top of it.
const ROOM: i64 = 64;

impl Translator<'_> {
    pub(super) fn first_class_intrinsic(&mut self, op: FirstClassOp, used: &Use) {
        match op {
            FirstClassOp::NewStack => self.blank_stack(used),
            FirstClassOp::Switch => self.stack_switch(used, LEAVE_SUSPENDED),
            FirstClassOp::SwitchDrop => self.stack_switch(used, LEAVE_FREED),
            FirstClassOp::SwitchCall | FirstClassOp::SwitchCallTrap => self.stack_switch_call(used),
            FirstClassOp::Extend | FirstClassOp::ExtendTrap => self.stack_extend(used),
            FirstClassOp::Start => self.stack_start(used),
            FirstClassOp::CheckCleared => self.check_cleared(),
            FirstClassOp::Redirect => self.redirect(),
            FirstClassOp::Level => self.level(),
            FirstClassOp::LeaveTo => self.leave_to(),
            FirstClassOp::EnterAnswer => self.enter_answer(used),
            FirstClassOp::EnterRedirect => self.enter_redirect(),
            FirstClassOp::EnterRedirectTo => self.enter_redirect_to(),
            FirstClassOp::CallStack => self.call_stack(used),
        }
    }

    /// Translates an operator whose topmost operand is a stack, if that makes
    /// it a special one.
    pub fn linear(&mut self, operator: &Operator<'_>) -> bool {
        if !self.is_reachable() {
            return false;
        }
        match operator {
            Operator::Drop => self.drop_stack(),
            Operator::RefIsNull => self.is_null_stack(),
            _ => return false,
        }
        true
    }

    /// `drop` of a stack, which frees it.
    fn drop_stack(&mut self) {
        let reference = self.pop();
        self.call_builtin(Builtin::drop_stack, &[reference]);
    }

    /// `ref.is_null` of a stack, which is free afterwards.
    fn is_null_stack(&mut self) {
        let reference = self.pop();
        let is_null = self.builder.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        let is_null = self.builder.ins().uextend(I32, is_null);
        self.call_builtin(Builtin::drop_stack, &[reference]);
        self.push(is_null);
    }

    fn blank_stack(&mut self, used: &Use) {
        let block = self.free_stack();
        let next = self.load_word(block, offset_of!(ControlBlock, next_free));
        self.store_to_store(next, offset_of!(StoreContext, free_stacks));
        let store = self.store_context();
        let ground = self.load_constant(store, offset_of!(StoreContext, ground) as i32);
        let top = self.load_word(block, offset_of!(ControlBlock, top));
        let parent = self.no_parent();
        let clauses = self.clause_list(used);
        let zero = self.builder.ins().iconst(I64, 0);
        let none = self.builder.ins().iconst(I32, 0);
        let state = self.builder.ins().iconst(I32, StackState::FirstClass as i64);
        self.store_word(ground, top, 0);
        self.store_word(top, block, offset_of!(ControlBlock, sp));
        self.store_word(zero, block, offset_of!(ControlBlock, fp));
        self.store_word(zero, block, offset_of!(ControlBlock, function));
        self.store_word(block, block, offset_of!(ControlBlock, innermost));
        self.store_word(parent, block, offset_of!(ControlBlock, parent));
        self.store_word(clauses, block, offset_of!(ControlBlock, handlers));
        self.store_word(zero, block, offset_of!(ControlBlock, sought));
        self.store_word(zero, block, offset_of!(ControlBlock, through));
        self.store_word(none, block, offset_of!(ControlBlock, bound));
        self.store_word(state, block, offset_of!(ControlBlock, state));
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(used.function).results()[0];
        self.push_typed(reference, made);
    }

    // ---- events

    fn stack_switch(&mut self, used: &Use, leaving: u64) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the stack");
        let block = self.check_target(reference, KIND);
        self.wait(used);
        let innermost = self.load_word(block, offset_of!(ControlBlock, innermost));
        let list = self.load_word(innermost, offset_of!(ControlBlock, handlers));
        let word = self.event_word(used.catches[0].0);
        let signal = find_event(&mut self.builder, list, word);
        let back = self.back(self.most_values(&used.clauses));
        let [caught, thrown] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(thrown);
        self.builder.ins().brif(signal, caught, &[], thrown, &[]);
        self.enter_sealed(thrown);
        self.put_all(&values);
        let how = self.index(leaving);
        self.leave_by(Builtin::event_throw, &[reference, word, how], back);
        self.enter_sealed(caught);
        let target = self.consume_stack(block, reference, KIND);
        let innermost = self.continued(target);
        if leaving == LEAVE_SUSPENDED {
            values.push(self.suspend_to_base(KIND));
        } else {
            let base = self.base();
            self.release_up_to(base);
        }
        let none = self.builder.ins().iconst(I64, 0);
        let carried = self.carry(&values);
        self.switch_to(innermost, signal, none, &carried, back);
        let delivery = self.come_back_anew(back);
        self.event_arrives(used, &delivery);
    }

    /// Goes on at the label for the event with which this stack was continued.
    fn event_arrives(&mut self, used: &Use, delivery: &Delivery) {
        self.branch_to_clause(delivery, &used.clauses);
        // An event without a clause comes as an exception.
        self.unreachable();
    }

    // ---- functions on top of other stacks

    fn stack_switch_call(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let function = values.pop().expect("the last operand is the function");
        let reference = values.pop().expect("the operand before it is the stack");
        let block = self.check_target(reference, KIND);
        self.wait(used);
        let innermost = self.room_on_top(block);
        let target = self.consume_stack(block, reference, KIND);
        self.continued(target);
        values.push(self.suspend_to_base(KIND));
        let delivered = self.most_values(&used.clauses);
        let delivery = self.run_on_top(used, innermost, &values, function, delivered);
        self.event_arrives(used, &delivery);
    }

    fn stack_extend(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let function = values.pop().expect("the last operand is the function");
        let reference = values.pop().expect("the operand before it is the stack");
        let block = self.check_target(reference, KIND);
        self.wait(used);
        let innermost = self.room_on_top(block);
        let target = self.consume_stack(block, reference, KIND);
        self.continued(target);
        // For the time being it is as if this stack had resumed the other.
        let current = self.current_stack();
        self.store_word(current, target, offset_of!(ControlBlock, parent));
        self.store_to_store(target, offset_of!(StoreContext, extended));
        let extended = self.run_on_top(used, innermost, &values, function, 0).reference;
        let ty = self.env.info.function_type(used.function).results()[0];
        self.push_typed(extended, ty);
    }

    /// Goes back to the stack that extends the running one, and waits for the
    /// next event.
    fn stack_start(&mut self, used: &Use) {
        self.wait(used);
        let extender = self.call_builtin(Builtin::extension_end, &[]);
        let base = self.load_from_store(offset_of!(StoreContext, found));
        let extended = self.reference_of_kind(base, KIND);
        let none = self.builder.ins().iconst(I64, 0);
        let delivered = self.most_values(&used.clauses);
        let delivery = self.exchange(extender, none, extended, &[], delivered);
        self.event_arrives(used, &delivery);
    }

    /// The innermost stack of those that are suspended with a base, which must
    /// have room for a word on top.
    fn room_on_top(&mut self, base: Value) -> Value {
        let innermost = self.load_word(base, offset_of!(ControlBlock, innermost));
        let sp = self.load_word(innermost, offset_of!(ControlBlock, sp));
        let limit = self.load_word(innermost, offset_of!(ControlBlock, limit));
        let room = self.builder.ins().isub(sp, limit);
        let fits = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, room, ROOM);
        self.builder.ins().trapz(fits, trap(TrapCode::CallStackExhausted));
        innermost
    }

    /// Continues a suspended stack not where it was left, but in a thunk that
    /// returns there. Answers with what this stack is continued.
    fn run_on_top(
        &mut self,
        used: &Use,
        innermost: Value,
        values: &[Value],
        function: Value,
        delivered: usize,
    ) -> Delivery {
        let thunk = self.thunk_address(used);
        let sp = self.load_word(innermost, offset_of!(ControlBlock, sp));
        let sp = self.builder.ins().iadd_imm_s(sp, -(size_of::<usize>() as i64));
        self.store_word(thunk, sp, 0);
        self.store_word(sp, innermost, offset_of!(ControlBlock, sp));
        let word = match used.catches.first() {
            Some((tag, _)) => self.event_word(*tag),
            None => self.builder.ins().iconst(I64, 0),
        };
        self.exchange(innermost, word, function, values, delivered)
    }

    // ---- slots and exceptions

    fn check_cleared(&mut self) {
        let reference = self.pop();
        self.builder.ins().trapnz(reference, trap(TrapCode::SlotNotEmpty));
    }

    fn redirect(&mut self) {
        let (exception, reference) = self.pop2();
        self.builder.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
        let (stub, args) = self.builtin_call(Builtin::redirect, &[exception, reference]);
        let signature = signature::builtin_stub(CallConv::Tail);
        let signature = self.builder.import_signature(signature);
        self.guarded_call(Callee::Indirect(signature, stub), &args);
        self.unreachable();
    }

    /// What a stack of an exception is to whoever catches it: the copy that
    /// stays in the exception is stale from then on.
    pub fn deliver_stack(&mut self, reference: Value, ty: ValType) -> Value {
        match self.env.subtyping().is_brand(ty, crate::intrinsic::STACK_BRAND) {
            true => self.call_builtin(Builtin::deliver_stack, &[reference]),
            false => reference,
        }
    }
}
