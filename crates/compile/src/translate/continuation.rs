//! Typed continuations.
//!
//! Everything that succeeds is done in line: the check of the
//! [reference](super::stack_reference), the links between the stacks, the search
//! if the nearest clause fits, and the [switch](super::switching).
//!
//! What costs most is stores, of which the processor makes one at a time, so the
//! common case makes few: a link is compared before it is written, and nothing
//! is spilled that a switch would not lose anyway. Therefore what is uncommon
//! never comes back to the common case before the switch: it ends in a switch of
//! its own, and both arrive at the same block.

use super::switching::Delivery;
use super::{Known, Translator, trap};
use crate::design::shared::Case;
use crate::design::shared::new_stack::NewStack;
use crate::emit::carry::CARRIED;
use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block, store, type_info};
use crate::handlers;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::{ClauseKind, HAS_WAITED, Purpose, StackKind};
use ropewalk_abi::{Builtin, FuncType, HeapType, RefType, TrapCode, ValType};
use wasmparser::{Handle, ResumeTable};

const CONT: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

/// Where a suspension goes.
struct Capture {
    /// The reference to what is captured.
    reference: Value,
    /// The stack that handles it.
    parent: Value,
    /// The signal for it.
    signal: Value,
}

impl Translator<'_> {
    pub fn cont_new(&mut self, ty: u32) {
        let function = self.pop();
        self.builder.ins().trapz(function, trap(TrapCode::NullFunctionReference));
        let block = self.free_stack();
        let info = self.type_info(self.env.info.cont_function(ty));
        let entry = Some(self.get_constant(info, type_info::ENTRY));
        let store = self.store_context();
        let start = self.get_constant(store, store::START);
        let sp = self.get(block, block::TOP);
        self.store_word(start, sp, 0);
        let purpose = Purpose::Continuation;
        // Its parent has no meaning until it is resumed.
        self.begin_stack(block, NewStack { sp, function, entry, parent: None, purpose });
        let reference = self.get(block, block::REFERENCE);
        self.push_typed(reference, CONT);
    }

    /// The first free stack, which stays on the list.
    pub(crate) fn free_stack(&mut self) -> Value {
        let first = self.get_from_store(store::FREE_STACKS);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(first, next, &[first.into()], cold, &[]);
        self.enter_sealed(cold);
        let made = self.call_builtin(Builtin::new_stack, &[]);
        self.jump(next, &[made]);
        self.enter_sealed(next);
        block
    }

    pub fn cont_bind(&mut self, from: u32, to: u32) {
        let env = self.env;
        let [from_function, to_function] = [from, to].map(|ty| env.info.cont_function(ty));
        let [before, after] =
            [from_function, to_function].map(|ty| env.info.func_type(ty).params().len());
        let reference = self.pop();
        let values = self.stack.split_off(self.stack.len() - (before - after));
        let bound = self.bind(reference, &values, from_function, StackKind::Continuation);
        self.push_typed(bound, CONT);
    }

    pub fn resume(&mut self, ty: u32, table: &ResumeTable) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let reference = self.pop();
        let arguments = self.stack.split_off(self.stack.len() - function.params().len());
        let back = self.back(self.most_delivered(function, table));
        self.know_running(Known::Stack);
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_reference(reference, StackKind::Continuation);
        let cold = self.cold_block();
        self.check_alone(block, reference, cold);
        self.link(block, table);
        let next = self.take_generation(block, reference, StackKind::Continuation);
        let carried = self.carry(&arguments, function.params());
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&arguments, function.params());
        let function_type = env.info.cont_function(ty);
        let target = self.consume_any(block, function_type, arguments.len(), None);
        self.link_any(target.block, table);
        self.continue_stack(&target, back);
        let delivery = self.come_back(back);
        self.after_resume(delivery, function, table);
    }

    pub fn resume_throw(&mut self, ty: u32, tag: u32, table: &ResumeTable) {
        let reference = self.pop();
        let exception = self.new_exception(tag);
        self.resume_with(ty, reference, exception, table);
    }

    pub fn resume_throw_ref(&mut self, ty: u32, table: &ResumeTable) {
        let (exception, reference) = self.pop2();
        self.builder.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
        self.resume_with(ty, reference, exception, table);
    }

    /// Continues a stack with an exception, which the runtime does. Control
    /// comes back here as after a `resume`.
    fn resume_with(&mut self, ty: u32, reference: Value, exception: Value, table: &ResumeTable) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let handlers = self.handler_table(table);
        let operands = [reference, exception, handlers];
        let back = self.back(self.most_delivered(function, table));
        self.leave_by(Builtin::resume_throw, &operands, back);
        let delivery = self.come_back(back);
        self.after_resume(delivery, function, table);
    }

    /// What follows a `resume`: the results, or a branch for each clause.
    fn after_resume(&mut self, delivery: Delivery, function: &FuncType, table: &ResumeTable) {
        // Meanwhile this stack may have been suspended together with the child.
        self.set_known(Known::Stack);
        let labels = (1..).zip(&table.handlers).filter_map(|(number, handle)| match handle {
            Handle::OnLabel { tag, label } => Some((number, *tag, *label)),
            Handle::OnSwitch { .. } => None,
        });
        let labels: Vec<(u32, u32, u32)> = labels.collect();
        let blocks = labels.iter().map(|(number, ..)| (*number, self.builder.create_block()));
        let blocks: Vec<_> = blocks.collect();
        let returned = self.builder.create_block();
        self.branch_by_signal(delivery.signal, &blocks, returned);
        for ((_, block), (_, tag, label)) in blocks.into_iter().zip(labels) {
            self.enter_sealed(block);
            let height = self.stack.len();
            let env = self.env;
            self.receive(env.info.tag_type(tag).params(), &delivery);
            self.push_typed(delivery.reference, CONT);
            self.branch_to(label);
            self.stack.truncate(height);
        }
        self.enter_sealed(returned);
        self.receive(function.results(), &delivery);
    }

    /// How many values at most come with what a `resume` waits for.
    fn most_delivered(&self, function: &FuncType, table: &ResumeTable) -> usize {
        let payloads = table.handlers.iter().map(|handle| match handle {
            Handle::OnLabel { tag, .. } => self.env.info.tag_type(*tag).params().len(),
            Handle::OnSwitch { .. } => 0,
        });
        payloads.fold(function.results().len(), usize::max).min(CARRIED)
    }

    pub fn suspend(&mut self, tag: u32) {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let back = self.back(ty.results().len());
        self.know_running(Known::Reference);
        let cold = self.cold_block();
        let parent = self.capture(tag, ClauseKind::Suspend, cold);
        let reference = self.current_reference();
        let first = self.builder.ins().iconst(I64, 1);
        let carried = self.carry(&values, ty.params());
        self.switch_to(parent, first, reference, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&values, ty.params());
        let other = self.capture_any(tag, ClauseKind::Suspend);
        let carried = self.load_carried(values.len());
        self.switch_cold(other.parent, other.signal, other.reference, &carried, back);
        let delivery = self.come_back(back);
        self.receive(ty.results(), &delivery);
    }

    pub fn switch(&mut self, ty: u32, tag: u32) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let reference = self.pop();
        let count = function.params().len() - 1;
        let mut arguments = self.stack.split_off(self.stack.len() - count);
        // Somebody switches back with the parameters of what is passed along.
        let Some(ValType::Ref(RefType { heap: HeapType::Concrete(passed), .. })) =
            function.params().last()
        else {
            unreachable!("validated to be a continuation");
        };
        let delivered = env.info.func_type(env.info.cont_function(*passed)).params();
        let back = self.back(delivered.len());
        self.know_running(Known::Reference);
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_reference(reference, StackKind::Continuation);
        let cold = self.cold_block();
        let parent = self.capture(tag, ClauseKind::Switch, cold);
        self.check_alone(block, reference, cold);
        self.set_if_different(block, block::PARENT, parent);
        let next = self.take_generation(block, reference, StackKind::Continuation);
        arguments.push(self.current_reference());
        let carried = self.carry(&arguments, function.params());
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&arguments[..count], &function.params()[..count]);
        // The search loses the registers, and the last place is still free.
        self.running_transfer().put_word(count as u32, block);
        let other = self.capture_any(tag, ClauseKind::Switch);
        let block = self.running_transfer().take_word(count as u32);
        let function_type = env.info.cont_function(ty);
        let target = self.consume_any(block, function_type, count, Some(other.reference));
        self.set(target.block, block::PARENT, other.parent);
        self.continue_stack(&target, back);
        let delivery = self.come_back(back);
        self.receive(delivered, &delivery);
    }

    // ---- the parts

    /// Links a stack to the running one, which resumes it, if anything differs
    /// from the last time: a store costs more than a load.
    fn link(&mut self, block: Value, table: &ResumeTable) {
        let current = self.current_stack();
        self.set_if_different(block, block::PARENT, current);
        let handlers = self.handler_table(table);
        self.set_if_different(current, block::HANDLERS, handlers);
        self.keep_through(current);
    }

    /// As `link`, in the uncommon case.
    fn link_any(&mut self, block: Value, table: &ResumeTable) {
        let current = self.current_stack();
        self.set(block, block::PARENT, current);
        let handlers = self.handler_table(table);
        self.set(current, block::HANDLERS, handlers);
        self.keep_through(current);
    }

    /// As [`ControlBlock::wait`].
    pub(crate) fn keep_through(&mut self, current: Value) {
        self.if_grouped(current, |this| {
            let sought = this.get(current, block::SOUGHT);
            let captures = this.get_from_store(store::CAPTURES);
            let has_waited = this.is_grouped_as(current, HAS_WAITED);
            let sought = this.builder.ins().select(has_waited, sought, captures);
            this.set(current, block::SOUGHT, sought);
            let has_waited = this.builder.ins().iconst(I32, i64::from(HAS_WAITED));
            this.set(current, block::IS_GROUPED, has_waited);
        });
    }

    /// As [`ControlBlock::forget_through`].
    pub(crate) fn forget_through(&mut self, current: Value) {
        self.if_grouped(current, |this| {
            let nothing = this.builder.ins().iconst(I64, 0);
            this.set(current, block::THROUGH, nothing);
            this.set(current, block::SOUGHT, nothing);
            this.set_grouped(current, false);
        });
    }

    /// Does something for a stack that was continued by way of another.
    fn if_grouped(&mut self, stack: Value, then: impl FnOnce(&mut Self)) {
        let is_grouped = self.load_grouped(stack);
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(is_grouped, cold, &[], next, &[]);
        self.enter_sealed(cold);
        then(self);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// Finds the handler of a tag in the common case, in which it is the first
    /// clause of the nearest `resume`, and returns the stack that waits in that.
    /// Else continues at `cold`.
    fn capture(&mut self, tag: u32, kind: ClauseKind, cold: Block) -> Value {
        let word = self.handler_word(tag, kind);
        let current = self.current_stack();
        let parent = self.get(current, block::PARENT);
        let handlers = self.get(parent, block::HANDLERS);
        let first = self.load_word(handlers, 0);
        let is_first = self.builder.ins().icmp(IntCC::Equal, word, first);
        self.continue_if(is_first, cold);
        parent
    }

    /// The word of a clause. It is loaded anew each time: a hoisted one would be
    /// in memory as well, since no register survives a switch.
    pub(crate) fn handler_word(&mut self, tag: u32, kind: ClauseKind) -> Value {
        self.note_tag(tag);
        let offset = self.env.layout.tag(tag);
        let context = self.running_context();
        let word = self.builder.ins().load(I64, MemFlagsData::trusted(), context, offset);
        match kind {
            ClauseKind::Suspend => word,
            _ => self.builder.ins().iadd_imm_s(word, kind as i64),
        }
    }

    /// As `capture` in any other case.
    fn capture_any(&mut self, tag: u32, kind: ClauseKind) -> Capture {
        let word = self.handler_word(tag, kind);
        let next = self.builder.create_block();
        self.builder.set_cold_block(next);
        let [outermost, parent, signal] = self.words(next);
        self.capture_near(word, next);
        let clause = self.call_builtin(Builtin::find_clause, &[word]);
        self.reload_running();
        let found = self.get_from_store(store::FOUND);
        let handling = self.get(found, block::PARENT);
        self.jump(next, &[found, handling, clause]);
        self.enter_sealed(next);
        self.suspend_below(outermost, Case::Any);
        let reference = self.get(outermost, block::REFERENCE);
        Capture { reference, parent, signal }
    }

    /// Goes on at `next` if the clause for a word is that of the nearest `resume`, or is
    /// where the stack found it the last time: if it was suspended together with others
    /// and was continued together with them, it finds it at the same place, and not
    /// before. Else goes on after.
    fn capture_near(&mut self, word: Value, next: Block) {
        let current = self.current_stack();
        let through = self.get(current, block::THROUGH);
        let sought = self.get(current, block::SOUGHT);
        let again = self.builder.ins().icmp(IntCC::Equal, sought, word);
        let outermost = self.builder.ins().select(again, through, current);
        let parent = self.get(outermost, block::PARENT);
        let handlers = self.get(parent, block::HANDLERS);
        let further = self.cold_block();
        let signal = find_clause(&mut self.builder, handlers, word, further);
        self.jump(next, &[outermost, parent, signal]);
        self.enter_sealed(further);
    }

    /// The address of the clauses of a `resume`.
    fn handler_table(&mut self, table: &ResumeTable) -> Value {
        let clauses = handlers::clauses(table);
        let number = self.env.lists.get(&clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number);
        let context = self.running_context();
        self.builder.ins().iadd_imm_s(context, i64::from(offset))
    }
}
