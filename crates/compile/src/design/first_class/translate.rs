//! The code of the operations.
//!
//! A stack that switches notes which events the `try_table`s around catch, as
//! a list of clauses. An event that is in the list of its receiver goes
//! straight to the label, like that of a fiber; any other is thrown there by
//! the runtime.

use crate::design::call::OperationCall;
use crate::design::shared::Case;
use crate::design::shared::new_stack::NewStack;
use crate::emit::carry::CARRIED;
use crate::emit::record::{Records, block, store};
use crate::signature;
use crate::translate::call::Callee;
use crate::translate::stack_reference::Target;
use crate::translate::switching::Delivery;
use crate::translate::{Known, Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::builtin::{LEAVE_FREED, LEAVE_SUSPENDED};
use ropewalk_abi::stack::{Purpose, StackKind};
use ropewalk_abi::{Builtin, PARKED, TrapCode, ValType};
use wasmparser::Operator;

const KIND: StackKind = StackKind::FirstClass;

impl Translator<'_> {
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
    pub(crate) fn drop_stack(&mut self) {
        let reference = self.pop();
        self.free_unless_null(reference);
    }

    /// Frees a stack. Mostly there is none: a function drops all that it had, and
    /// has moved it before.
    pub(crate) fn free_unless_null(&mut self, reference: Value) {
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(reference, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::drop_stack, &[reference]);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// `ref.is_null` of a stack, which is free afterwards.
    pub(crate) fn is_null_stack(&mut self) {
        let reference = self.pop();
        let is_null = self.builder.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        let is_null = self.builder.ins().uextend(I32, is_null);
        self.free_unless_null(reference);
        self.push(is_null);
    }

    pub(crate) fn new_blank_stack(&mut self, call: &OperationCall) {
        let block = self.free_stack();
        let store = self.store_context();
        let ground = self.get_constant(store, store::GROUND);
        let sp = self.get(block, block::TOP);
        let parent = Some(self.no_parent());
        let clauses = self.clause_list(call);
        let function = self.builder.ins().iconst(I64, 0);
        self.store_word(ground, sp, 0);
        let purpose = Purpose::FirstClass;
        self.begin_stack(block, NewStack { sp, function, entry: None, parent, purpose });
        self.set(block, block::HANDLERS, clauses);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(call.import).results()[0];
        self.push_typed(reference, made);
    }

    // ---- events

    pub(crate) fn first_class_switch(&mut self, call: &OperationCall, leaving: u64) {
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the stack");
        let (tag, _) = call.catches[0];
        let back = self.back(self.most_values(&call.clauses));
        self.know_running(Known::Reference);
        let block = self.check_target(reference, KIND);
        self.note_clauses(call);
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
        self.run_base(block);
        self.switch_to(block, signal, next, &carried, back);
        self.enter_sealed(otherwise);
        self.send_any(call, block, &values, leaving, [back, thrown]);
        self.enter_sealed(thrown);
        self.put_all(&values, &types[..values.len()]);
        let operands = [reference, self.event_word(tag), self.index(leaving)];
        self.leave_by(Builtin::event_throw, &operands, back);
        let delivery = self.come_back(back);
        self.event_arrives(call, &delivery);
    }

    /// The base of the running stack. If it is to be freed, it is no root in the
    /// common case: a root is not freed with what ran on it.
    pub(crate) fn base_to_leave(&mut self, leaving: u64, case: Case) -> Value {
        let base = self.base(case);
        if leaving == LEAVE_FREED {
            self.check_freed_at_once(base, case);
        }
        base
    }

    /// Suspends or frees everything up to the base. If it is suspended, returns
    /// the reference to it.
    pub(crate) fn leave_base(&mut self, base: Value, leaving: u64, case: Case) -> Option<Value> {
        if leaving == LEAVE_SUSPENDED {
            return Some(self.suspend_to_base(base, KIND, case));
        }
        self.release_base(base, case);
        None
    }

    /// As `first_class_switch`, in any case.
    pub(crate) fn send_any(
        &mut self,
        call: &OperationCall,
        block: Value,
        values: &[Value],
        leaving: u64,
        [back, thrown]: [Block; 2],
    ) {
        let (tag, _) = call.catches[0];
        let types = self.env.info.tag_type(tag).params();
        let innermost = self.innermost(block, Case::Any);
        let signal = self.look_up(tag, innermost, thrown);
        let suspends = leaving == LEAVE_SUSPENDED;
        let slow = self.cold_block();
        // What is suspended may be a group. What is freed in line is alone.
        let case = if suspends { Case::Any } else { Case::Common { otherwise: slow } };
        let base = self.base_to_leave(leaving, case);
        let left = suspends.then(|| self.suspend_to_base(base, KIND, case));
        let target = self.consume_group(block, slow);
        if !suspends {
            self.release_base(base, case);
        }
        let sent: Vec<_> = values.iter().copied().chain(left).collect();
        let carried = self.carry(&sent, types);
        self.run_base(target.block);
        self.switch_cold(target.innermost, signal, target.reference, &carried, back);
        self.enter_sealed(slow);
        self.put_all(values, &types[..values.len()]);
        let ty = self.env.info.tags[tag as usize];
        let target = self.consume_any(block, ty, values.len(), left);
        if !suspends {
            let base = self.base(Case::Any);
            self.release_base(base, Case::Any);
        }
        // The runtime has lost the registers, so it is looked up again.
        let never = self.cold_block();
        let signal = self.look_up(tag, target.innermost, never);
        let carried = self.load_carried(CARRIED);
        self.run_base(target.block);
        self.switch_cold(target.innermost, signal, target.reference, &carried, back);
        self.enter_sealed(never);
        self.builder.ins().trap(trap(TrapCode::Unreachable));
    }

    /// Continues at the label for the event with which this stack was continued.
    pub(crate) fn event_arrives(&mut self, call: &OperationCall, delivery: &Delivery) {
        self.branch_to_clause(delivery, &call.clauses);
        // An event without a clause comes as an exception.
        self.unreachable();
    }

    // ---- functions on top of other stacks

    pub(crate) fn switch_call(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        values.pop().expect("the last operand is the function, which the thunk knows");
        let reference = values.pop().expect("the operand before it is the stack");
        let ty = self.env.info.functions[call.functions[0] as usize];
        let types = self.env.info.func_type(ty).params();
        let back = self.back(self.most_values(&call.clauses));
        self.know_running(Known::Reference);
        let block = self.check_target(reference, KIND);
        self.note_clauses(call);
        let otherwise = self.cold_block();
        let common = Case::Common { otherwise };
        self.innermost(block, common);
        let base = self.base(common);
        self.check_generation(reference, otherwise);
        self.take_generation(block, reference, KIND);
        let left = self.suspend_to_base(base, KIND, common);
        let word = self.event_on_return(call);
        let thunk = self.thunk_number(call);
        let carried = self.carry(&[values.as_slice(), &[left]].concat(), types);
        let instance = self.running_context();
        self.run_base(block);
        self.switch_into(Some(thunk), block, word, instance, &carried, back);
        self.enter_sealed(otherwise);
        let base = self.base(Case::Any);
        let left = self.suspend_to_base(base, KIND, Case::Any);
        let slow = self.cold_block();
        let target = self.consume_group(block, slow);
        let carried = self.carry(&[values.as_slice(), &[left]].concat(), types);
        self.call_on_top(call, &target, &carried, back);
        self.enter_sealed(slow);
        self.put_all(&values, &types[..values.len()]);
        let target = self.consume_any(block, ty, values.len(), Some(left));
        let carried = self.load_carried(CARRIED);
        self.call_on_top(call, &target, &carried, back);
        let delivery = self.come_back(back);
        self.event_arrives(call, &delivery);
    }

    pub(crate) fn extend(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        values.pop().expect("the last operand is the function, which the thunk knows");
        let reference = values.pop().expect("the operand before it is the stack");
        let back = self.back(0);
        self.know_running(Known::Stack);
        let block = self.check_target(reference, KIND);
        self.wait(call);
        let ty = self.env.info.functions[call.functions[0] as usize];
        self.put_all(&values, self.env.info.func_type(ty).params());
        let target = self.consume_any(block, ty, values.len(), None);
        let current = self.current_stack();
        self.set(target.block, block::EXTENDER, current);
        let base = self.base(Case::Any);
        self.set_in_store(store::EXTENDING, base);
        let carried = self.load_carried(CARRIED);
        self.call_on_top(call, &target, &carried, back);
        let extended = self.come_back_regrouped(back).reference;
        let ty = self.env.info.function_type(call.import).results()[0];
        self.push_typed(extended, ty);
    }

    /// Runs a function on top of a stack, in the uncommon case.
    fn call_on_top(
        &mut self,
        call: &OperationCall,
        target: &Target,
        carried: &[Value],
        back: Block,
    ) {
        self.unpark(target.innermost);
        let word = self.event_on_return(call);
        let thunk = self.thunk_number(call);
        let instance = self.running_context();
        let apart = self.apart(back);
        self.run_base(target.block);
        self.switch_into(Some(thunk), target.innermost, word, instance, carried, apart);
        self.rejoin(apart, back);
    }

    /// Unparks a stack on which a function is about to run, if it is parked: the
    /// function does not look at what lies there.
    fn unpark(&mut self, innermost: Value) {
        let limit = self.get(innermost, block::LIMIT);
        let comparison = IntCC::UnsignedGreaterThanOrEqual;
        let is_parked = self.builder.ins().icmp_imm_s(comparison, limit, PARKED as i64);
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(is_parked, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::unpark, &[innermost]);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// Goes back to the stack that extends the running one, and waits for the
    /// next event.
    pub(crate) fn start_rout(&mut self, call: &OperationCall) {
        self.know_running(Known::Stack);
        self.wait(call);
        let extender = self.call_builtin(Builtin::extension_end, &[]);
        let base = self.get_from_store(store::FOUND);
        let extended = self.reference_of_kind(base, KIND);
        let none = self.builder.ins().iconst(I64, 0);
        let delivered = self.most_values(&call.clauses);
        let back = self.back(delivered);
        self.switch_to(extender, none, extended, &[], back);
        let delivery = self.come_back(back);
        self.event_arrives(call, &delivery);
    }

    /// The word of the event that a function on top of another stack returns with.
    pub(crate) fn event_on_return(&mut self, call: &OperationCall) -> Value {
        match call.catches.first() {
            Some((tag, _)) => self.event_word(*tag),
            None => self.builder.ins().iconst(I64, 0),
        }
    }

    // ---- slots and exceptions

    pub(crate) fn check_cleared(&mut self) {
        let reference = self.pop();
        self.builder.ins().trapnz(reference, trap(TrapCode::SlotNotEmpty));
    }

    /// As `ref.is_null`, which frees a stack.
    pub(crate) fn is_cleared(&mut self) {
        let reference = self.pop();
        let is_null = self.builder.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        let is_null = self.builder.ins().uextend(I32, is_null);
        self.push(is_null);
    }

    pub(crate) fn redirect(&mut self) {
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
        match self.env.subtyping().is_brand(ty, crate::design::STACK_BRAND) {
            true => self.call_builtin(Builtin::deliver_stack, &[reference]),
            false => reference,
        }
    }
}
