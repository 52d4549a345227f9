//! First-class stacks.
//!
//! A stack that switches notes which events the `try_table`s around catch, as
//! a list of clauses. An event that is in the list of its receiver goes
//! straight to the label, like that of a fiber; any other is thrown there by
//! the runtime.

use super::Case;
use crate::carry::CARRIED;
use crate::intrinsic::FirstClassOp;
use crate::intrinsic::form::Use;
use crate::signature;
use crate::translate::call::Callee;
use crate::translate::stack_reference::Target;
use crate::translate::switching::Delivery;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::builtin::{LEAVE_FREED, LEAVE_SUSPENDED};
use ropewalk_abi::stack::{StackKind, StackState};
use ropewalk_abi::{Builtin, ControlBlock, StoreContext, TrapCode, ValType};
use std::mem::offset_of;
use wasmparser::Operator;

const KIND: StackKind = StackKind::FirstClass;

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
        self.free_unless_null(reference);
    }

    /// Frees a stack. Mostly there is none: a function drops all that it had, and
    /// has moved it before.
    fn free_unless_null(&mut self, reference: Value) {
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(reference, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::drop_stack, &[reference]);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// `ref.is_null` of a stack, which is free afterwards.
    fn is_null_stack(&mut self) {
        let reference = self.pop();
        let is_null = self.builder.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        let is_null = self.builder.ins().uextend(I32, is_null);
        self.free_unless_null(reference);
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
        self.store_word(parent, block, offset_of!(ControlBlock, parent));
        self.store_word(clauses, block, offset_of!(ControlBlock, handlers));
        self.store_word(zero, block, offset_of!(ControlBlock, sought));
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
        let (tag, _) = used.catches[0];
        let back = self.back(self.most_values(&used.clauses));
        let block = self.check_target(reference, KIND);
        self.note_clauses(used);
        let [otherwise, thrown] = [(); 2].map(|()| self.cold_block());
        let common = Case::Common { otherwise };
        self.innermost(block, common);
        let signal = self.look_up(tag, block, thrown);
        let base = self.base_to_leave(leaving, common);
        self.check_generation(reference, otherwise);
        let next = self.take_generation(block, reference, KIND);
        let left = self.leave_base(base, leaving, common);
        let sent: Vec<_> = values.iter().copied().chain(left).collect();
        let types = self.env.info.tag_type(tag).params();
        let carried = self.carry(&sent, types);
        self.switch_to(block, signal, next, &carried, back);
        self.enter_sealed(otherwise);
        self.send_other(used, block, &values, leaving, [back, thrown]);
        self.enter_sealed(thrown);
        self.put_all(&values, &types[..values.len()]);
        let operands = [reference, self.event_word(tag), self.index(leaving)];
        self.leave_by(Builtin::event_throw, &operands, back);
        let delivery = self.come_back_anew(back);
        self.event_arrives(used, &delivery);
    }

    /// The base of the running stack. If it is to be freed, it is no root in the
    /// common case: a root is not freed with what ran on it.
    fn base_to_leave(&mut self, leaving: u64, case: Case) -> Value {
        let base = self.base(case);
        if leaving == LEAVE_FREED {
            self.check_no_root(base, case);
        }
        base
    }

    /// Suspends or frees everything up to the base. If it is suspended, answers
    /// the reference to it.
    fn leave_base(&mut self, base: Value, leaving: u64, case: Case) -> Option<Value> {
        if leaving == LEAVE_SUSPENDED {
            return Some(self.suspend_to_base(base, KIND, case));
        }
        self.release_base(base, case);
        None
    }

    /// As `stack_switch`, in any case.
    fn send_other(
        &mut self,
        used: &Use,
        block: Value,
        values: &[Value],
        leaving: u64,
        [back, thrown]: [Block; 2],
    ) {
        let (tag, _) = used.catches[0];
        let innermost = self.innermost(block, Case::Any);
        self.look_up(tag, innermost, thrown);
        self.put_all(values, &self.env.info.tag_type(tag).params()[..values.len()]);
        let base = self.base(Case::Any);
        let suspends = leaving == LEAVE_SUSPENDED;
        let left = suspends.then(|| self.suspend_to_base(base, KIND, Case::Any));
        let ty = self.env.info.tags[tag as usize];
        let target = self.consume_other(block, ty, values.len(), left);
        if !suspends {
            let base = self.base(Case::Any);
            self.release_base(base, Case::Any);
        }
        // The runtime has lost the registers, so it is looked up again.
        let never = self.cold_block();
        let signal = self.look_up(tag, target.innermost, never);
        let carried = self.load_carried(CARRIED);
        self.switch_other(target.innermost, signal, target.reference, &carried, back);
        self.enter_sealed(never);
        self.builder.ins().trap(trap(TrapCode::Unreachable));
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
        values.pop().expect("the last operand is the function, which the thunk knows");
        let reference = values.pop().expect("the operand before it is the stack");
        let ty = self.env.info.functions[used.functions[0] as usize];
        let types = self.env.info.func_type(ty).params();
        let back = self.back(self.most_values(&used.clauses));
        let block = self.check_target(reference, KIND);
        self.note_clauses(used);
        let otherwise = self.cold_block();
        let common = Case::Common { otherwise };
        self.innermost(block, common);
        let base = self.base(common);
        self.check_generation(reference, otherwise);
        self.take_generation(block, reference, KIND);
        let left = self.suspend_to_base(base, KIND, common);
        let word = self.event_on_return(used);
        let thunk = self.thunk_number(used);
        let carried = self.carry(&[values.as_slice(), &[left]].concat(), types);
        let instance = self.running_context();
        self.switch_into(Some(thunk), block, word, instance, &carried, back);
        self.enter_sealed(otherwise);
        self.put_all(&values, &types[..values.len()]);
        let base = self.base(Case::Any);
        let left = self.suspend_to_base(base, KIND, Case::Any);
        let target = self.consume_other(block, ty, values.len(), Some(left));
        self.call_other(used, &target, back);
        let delivery = self.come_back_anew(back);
        self.event_arrives(used, &delivery);
    }

    fn stack_extend(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        values.pop().expect("the last operand is the function, which the thunk knows");
        let reference = values.pop().expect("the operand before it is the stack");
        let back = self.back(0);
        let block = self.check_target(reference, KIND);
        self.wait(used);
        let ty = self.env.info.functions[used.functions[0] as usize];
        self.put_all(&values, self.env.info.func_type(ty).params());
        let target = self.consume_other(block, ty, values.len(), None);
        let current = self.current_stack();
        self.store_word(current, target.block, offset_of!(ControlBlock, extender));
        self.call_other(used, &target, back);
        let extended = self.come_back(back).reference;
        self.find_running_reference();
        let ty = self.env.info.function_type(used.function).results()[0];
        self.push_typed(extended, ty);
    }

    /// Runs a function whose arguments are in the transfer area on top of a stack.
    fn call_other(&mut self, used: &Use, target: &Target, back: Block) {
        let word = self.event_on_return(used);
        let thunk = self.thunk_number(used);
        let instance = self.running_context();
        let carried = self.load_carried(CARRIED);
        let apart = self.apart(back);
        self.switch_into(Some(thunk), target.innermost, word, instance, &carried, apart);
        self.rejoin(apart, back);
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
        let delivery = self.exchange(extender, none, extended, delivered);
        self.event_arrives(used, &delivery);
    }

    /// The word of the event that a function on top of another stack returns with.
    fn event_on_return(&mut self, used: &Use) -> Value {
        match used.catches.first() {
            Some((tag, _)) => self.event_word(*tag),
            None => self.builder.ins().iconst(I64, 0),
        }
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
