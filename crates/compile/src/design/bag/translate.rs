//! The code of the operations.

use crate::design::call::OperationCall;
use crate::design::shared::Case;
use crate::translate::{Known, Translator, trap};
use cranelift_codegen::ir::{InstBuilder, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode};

const KIND: StackKind = StackKind::Bag;

impl Translator<'_> {
    pub(crate) fn stack_new(&mut self, call: &OperationCall) {
        let function = self.pop();
        self.builder.ins().trapz(function, trap(TrapCode::NullFunctionReference));
        let block = self.new_stack(KIND, call, function, &[]);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(call.import).results()[0];
        self.push_typed(reference, made);
    }

    pub(crate) fn stack_switch(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the stack");
        let env = self.env;
        let results = env.info.function_type(call.import).results();
        let ty = self.stack_function(call);
        let sent = env.info.func_type(ty).params();
        let back = self.back(results.len());
        self.know_running(Known::Reference);
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_target(reference, KIND);
        let otherwise = self.cold_block();
        let common = Case::Common { otherwise };
        let base = self.base(common);
        self.check_alone(block, reference, otherwise);
        let next = self.take_generation(block, reference, KIND);
        let left = self.suspend_to_base(base, KIND, common);
        let carried = self.carry(&[values.as_slice(), &[left]].concat(), sent);
        self.run_base(block);
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(otherwise);
        let base = self.base(Case::Any);
        let left = self.suspend_to_base(base, KIND, Case::Any);
        let slow = self.cold_block();
        let target = self.consume_group(block, slow);
        let carried = self.carry(&[values.as_slice(), &[left]].concat(), sent);
        self.run_base(target.block);
        self.switch_cold(target.innermost, nothing, target.reference, &carried, back);
        self.enter_sealed(slow);
        self.put_all(&values, &sent[..values.len()]);
        let target = self.consume_any(block, ty, values.len(), Some(left));
        self.run_base(target.block);
        self.continue_stack(&target, back);
        let delivery = self.come_back(back);
        self.receive(results, &delivery);
    }

    pub(crate) fn stack_switch_retire(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the stack");
        let ty = self.stack_function(call);
        let sent = self.env.info.func_type(ty).params();
        let back = self.back(0);
        self.know_running(Known::Stack);
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_target(reference, KIND);
        let otherwise = self.cold_block();
        let common = Case::Common { otherwise };
        let base = self.base(common);
        self.check_freed_at_once(base, common);
        self.check_alone(block, reference, otherwise);
        let next = self.take_generation(block, reference, KIND);
        self.release_base(base, common);
        let carried = self.carry(&[values.as_slice(), &[nothing]].concat(), sent);
        self.run_base(block);
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(otherwise);
        let slow = self.cold_block();
        let alone = Case::Common { otherwise: slow };
        let base = self.base(alone);
        self.check_freed_at_once(base, alone);
        let target = self.consume_group(block, slow);
        self.release_base(base, alone);
        let carried = self.carry(&[values.as_slice(), &[nothing]].concat(), sent);
        self.run_base(target.block);
        self.switch_cold(target.innermost, nothing, target.reference, &carried, back);
        self.enter_sealed(slow);
        self.put_all(&values, &sent[..values.len()]);
        let target = self.consume_any(block, ty, values.len(), Some(nothing));
        let base = self.base(Case::Any);
        self.release_base(base, Case::Any);
        self.run_base(target.block);
        self.continue_stack(&target, back);
        self.come_back(back);
        self.unreachable();
    }

    /// Emits a switch that leaves the function: nothing of it is left but what calls
    /// the function that comes back in its place.
    pub(crate) fn leave_function(&mut self, call: &OperationCall, switch: impl FnOnce(&mut Self)) {
        let operands = self.env.info.function_type(call.import).params().len();
        self.free_below(operands);
        self.without_handlers(switch);
    }

    /// The type of the function that the stack of a call was made of.
    pub(crate) fn stack_function(&self, call: &OperationCall) -> u32 {
        let params = self.env.info.function_type(call.import).params();
        let operand = *params.last().expect("the last operand is the stack");
        let index = self.env.subtyping().continuation_index(operand);
        self.env.info.cont_function(index.expect("its type is checked"))
    }

    pub(crate) fn stack_bind(&mut self, call: &OperationCall) {
        let env = self.env;
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the stack");
        let ty = self.stack_function(call);
        let bound = self.bind(reference, &values, ty, KIND);
        self.push_typed(bound, env.info.function_type(call.import).results()[0]);
    }

    /// Makes the exception, without the stack that is left, and lets the
    /// runtime do the rest.
    pub(crate) fn stack_switch_throw(&mut self, call: &OperationCall) {
        let env = self.env;
        let (tag, _) = call.catches[0];
        let reference = self.pop();
        // The runtime adds the stack that is left.
        let null = self.builder.ins().iconst(I64, 0);
        self.push(null);
        let exception = self.new_exception(tag);
        let layout = &env.objects[env.info.tags[tag as usize] as usize];
        let offset = *layout.offsets.last().expect("the last value is the stack");
        let offset = self.index(u64::from(offset));
        let operands = [reference, exception, offset];
        let results = env.info.function_type(call.import).results();
        let delivery = self.switch_by(Builtin::switch_throw, &operands, results.len());
        self.receive(results, &delivery);
    }
}
