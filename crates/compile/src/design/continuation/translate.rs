//! Translates the instructions of the stack-switching proposal.
//!
//! Everything that succeeds is done in line: the check of the reference, the links between the
//! stacks, the search if the nearest clause fits, and the switch.

use crate::emit::carry::CARRIED;
use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block, store, type_info};
use crate::emit::trap;
use crate::module::clause_list::resume_clauses;
use crate::translate::{Cached, Translator};
use crate::verbs::{Case, Delivery, NewStack};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::{ClauseKind, Purpose, StackKind};
use ropewalk_abi::{Builtin, FuncType, HeapType, RefType, TrapCode, ValType};
use wasmparser::{Handle, Operator, ResumeTable};

const CONT: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

/// The result of the search for a handler.
struct Capture {
    /// The reference to the captured stacks.
    reference: Value,
    /// The stack that handles the tag.
    parent: Value,
    signal: Value,
}

/// Translates an instruction of the proposal; returns whether it is one.
pub(in crate::design) fn instruction(t: &mut Translator<'_>, operator: &Operator<'_>) -> bool {
    match operator {
        Operator::ContNew { cont_type_index } => cont_new(t, *cont_type_index),
        Operator::ContBind { argument_index, result_index } => {
            cont_bind(t, *argument_index, *result_index);
        }
        Operator::Suspend { tag_index } => suspend(t, *tag_index),
        Operator::Resume { cont_type_index, resume_table } => {
            resume(t, *cont_type_index, resume_table);
        }
        Operator::ResumeThrow { cont_type_index, tag_index, resume_table } => {
            resume_throw(t, *cont_type_index, *tag_index, resume_table);
        }
        Operator::ResumeThrowRef { cont_type_index, resume_table } => {
            resume_throw_ref(t, *cont_type_index, resume_table);
        }
        Operator::Switch { cont_type_index, tag_index } => {
            switch(t, *cont_type_index, *tag_index);
        }
        _ => return false,
    }
    true
}

fn cont_new(t: &mut Translator<'_>, ty: u32) {
    let function = t.pop();
    t.ins().trapz(function, trap(TrapCode::NullFunctionReference));
    let block = t.free_stack();
    let info = t.type_info(t.env.info.cont_function(ty));
    let entry = Some(t.get_constant(info, type_info::ENTRY));
    let store = t.store_context();
    let start = t.get_constant(store, store::START);
    let sp = t.get(block, block::TOP);
    t.store_word(start, sp, 0);
    let purpose = Purpose::Continuation;
    // The parent has no meaning until it is resumed.
    t.begin_stack(block, NewStack { sp, function, entry, parent: None, purpose });
    let reference = t.get(block, block::REFERENCE);
    t.push_typed(reference, CONT);
}

fn cont_bind(t: &mut Translator<'_>, from: u32, to: u32) {
    let env = t.env;
    let [from_function, to_function] = [from, to].map(|ty| env.info.cont_function(ty));
    let [before, after] =
        [from_function, to_function].map(|ty| env.info.func_type(ty).params().len());
    let reference = t.pop();
    let values = t.stack.split_off(t.stack.len() - (before - after));
    let bound = t.bind(reference, &values, from_function, StackKind::Continuation);
    t.push_typed(bound, CONT);
}

fn resume(t: &mut Translator<'_>, ty: u32, table: &ResumeTable) {
    let env = t.env;
    let function = env.info.func_type(env.info.cont_function(ty));
    let reference = t.pop();
    let arguments = t.stack.split_off(t.stack.len() - function.params().len());
    let back = t.back(most_delivered(t, function, table));
    t.cache_running(Cached::Stack);
    let nothing = t.ins().iconst(I64, 0);
    let block = t.check_reference(reference, StackKind::Continuation);
    let cold = t.cold_block();
    t.check_alone(block, reference, cold);
    link(t, block, table);
    let next = t.take_generation(block, reference, StackKind::Continuation);
    let carried = t.carry(&arguments, function.params());
    t.switch_to(block, nothing, next, &carried, back);
    t.enter_sealed(cold);
    t.put_all(&arguments, function.params());
    let function_type = env.info.cont_function(ty);
    let target = t.consume_any(block, function_type, arguments.len(), None);
    link_any(t, target.block, table);
    t.continue_stack(&target, back);
    let delivery = t.come_back(back);
    after_resume(t, delivery, function, table);
}

fn resume_throw(t: &mut Translator<'_>, ty: u32, tag: u32, table: &ResumeTable) {
    let reference = t.pop();
    let exception = t.new_exception(tag);
    resume_with(t, ty, reference, exception, table);
}

fn resume_throw_ref(t: &mut Translator<'_>, ty: u32, table: &ResumeTable) {
    let (exception, reference) = t.pop2();
    t.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
    resume_with(t, ty, reference, exception, table);
}

/// Continues a stack with an exception, by the runtime. Control comes back as after a `resume`.
fn resume_with(
    t: &mut Translator<'_>,
    ty: u32,
    reference: Value,
    exception: Value,
    table: &ResumeTable,
) {
    let env = t.env;
    let function = env.info.func_type(env.info.cont_function(ty));
    let handlers = t.clause_list(&resume_clauses(table));
    let operands = [reference, exception, handlers];
    let back = t.back(most_delivered(t, function, table));
    t.leave_by(Builtin::resume_throw, &operands, back);
    let delivery = t.come_back(back);
    after_resume(t, delivery, function, table);
}

/// Continues after a `resume`: with the results, or at the label of a clause.
fn after_resume(
    t: &mut Translator<'_>,
    delivery: Delivery,
    function: &FuncType,
    table: &ResumeTable,
) {
    // This stack may have been suspended together with the child.
    t.set_cached(Cached::Stack);
    let labels = (1..).zip(&table.handlers).filter_map(|(number, handle)| match handle {
        Handle::OnLabel { tag, label } => Some((number, *tag, *label)),
        Handle::OnSwitch { .. } => None,
    });
    let labels: Vec<(u32, u32, u32)> = labels.collect();
    let blocks = labels.iter().map(|(number, ..)| (*number, t.builder.create_block()));
    let blocks: Vec<_> = blocks.collect();
    let returned = t.builder.create_block();
    t.branch_by_signal(delivery.signal, &blocks, returned);
    for ((_, block), (_, tag, label)) in blocks.into_iter().zip(labels) {
        t.enter_sealed(block);
        let height = t.stack.len();
        let env = t.env;
        t.receive(env.info.tag_type(tag).params(), &delivery);
        t.push_typed(delivery.reference, CONT);
        t.branch_to(label);
        t.stack.truncate(height);
    }
    t.enter_sealed(returned);
    t.receive(function.results(), &delivery);
}

/// The most values that come back to a `resume`.
fn most_delivered(t: &Translator<'_>, function: &FuncType, table: &ResumeTable) -> usize {
    let payloads = table.handlers.iter().map(|handle| match handle {
        Handle::OnLabel { tag, .. } => t.env.info.tag_type(*tag).params().len(),
        Handle::OnSwitch { .. } => 0,
    });
    payloads.fold(function.results().len(), usize::max).min(CARRIED)
}

fn suspend(t: &mut Translator<'_>, tag: u32) {
    let env = t.env;
    let ty = env.info.tag_type(tag);
    let values = t.stack.split_off(t.stack.len() - ty.params().len());
    let back = t.back(ty.results().len());
    t.cache_running(Cached::Reference);
    let cold = t.cold_block();
    let parent = capture(t, tag, ClauseKind::Suspend, cold);
    let reference = t.current_reference();
    let first = t.ins().iconst(I64, 1);
    let carried = t.carry(&values, ty.params());
    t.switch_to(parent, first, reference, &carried, back);
    t.enter_sealed(cold);
    t.put_all(&values, ty.params());
    let other = capture_any(t, tag, ClauseKind::Suspend);
    let carried = t.load_carried(values.len());
    t.switch_cold(other.parent, other.signal, other.reference, &carried, back);
    let delivery = t.come_back(back);
    t.receive(ty.results(), &delivery);
}

fn switch(t: &mut Translator<'_>, ty: u32, tag: u32) {
    let env = t.env;
    let function = env.info.func_type(env.info.cont_function(ty));
    let reference = t.pop();
    let count = function.params().len() - 1;
    let mut arguments = t.stack.split_off(t.stack.len() - count);
    // The switch back brings the parameters of the continuation that is passed along.
    let Some(ValType::Ref(RefType { heap: HeapType::Concrete(passed), .. })) =
        function.params().last()
    else {
        unreachable!("validated to be a continuation");
    };
    let delivered = env.info.func_type(env.info.cont_function(*passed)).params();
    let back = t.back(delivered.len());
    t.cache_running(Cached::Reference);
    let nothing = t.ins().iconst(I64, 0);
    let block = t.check_reference(reference, StackKind::Continuation);
    let cold = t.cold_block();
    let parent = capture(t, tag, ClauseKind::Switch, cold);
    t.check_alone(block, reference, cold);
    t.set_if_different(block, block::PARENT, parent);
    let next = t.take_generation(block, reference, StackKind::Continuation);
    arguments.push(t.current_reference());
    let carried = t.carry(&arguments, function.params());
    t.switch_to(block, nothing, next, &carried, back);
    t.enter_sealed(cold);
    t.put_all(&arguments[..count], &function.params()[..count]);
    // The search loses the registers. The last place is still free.
    t.running_transfer().put_word(count as u32, block);
    let other = capture_any(t, tag, ClauseKind::Switch);
    let block = t.running_transfer().take_word(count as u32);
    let function_type = env.info.cont_function(ty);
    let target = t.consume_any(block, function_type, count, Some(other.reference));
    t.set(target.block, block::PARENT, other.parent);
    t.continue_stack(&target, back);
    let delivery = t.come_back(back);
    t.receive(delivered, &delivery);
}

// ---- the parts

/// Links a stack to the running one, which resumes it. Writes only what differs from the last time.
fn link(t: &mut Translator<'_>, block: Value, table: &ResumeTable) {
    let current = t.current_stack();
    t.set_if_different(block, block::PARENT, current);
    let handlers = t.clause_list(&resume_clauses(table));
    t.set_if_different(current, block::HANDLERS, handlers);
    t.keep_through(current);
}

/// The same, in the general case.
fn link_any(t: &mut Translator<'_>, block: Value, table: &ResumeTable) {
    let current = t.current_stack();
    t.set(block, block::PARENT, current);
    let handlers = t.clause_list(&resume_clauses(table));
    t.set(current, block::HANDLERS, handlers);
    t.keep_through(current);
}

/// Finds the handler of a tag if it is the first clause of the nearest `resume`. Returns the stack
/// that waits in that; otherwise continues at `cold`.
fn capture(t: &mut Translator<'_>, tag: u32, kind: ClauseKind, cold: Block) -> Value {
    let word = t.clause_word(tag, kind);
    let current = t.current_stack();
    let parent = t.get(current, block::PARENT);
    let handlers = t.get(parent, block::HANDLERS);
    let first = t.load_word(handlers, 0);
    let is_first = t.ins().icmp(IntCC::Equal, word, first);
    t.continue_if(is_first, cold);
    parent
}

/// Finds the handler of a tag in the general case.
fn capture_any(t: &mut Translator<'_>, tag: u32, kind: ClauseKind) -> Capture {
    let word = t.clause_word(tag, kind);
    let next = t.builder.create_block();
    t.builder.set_cold_block(next);
    let [outermost, parent, signal] = t.words(next);
    capture_near(t, word, next);
    let clause = t.call_builtin(Builtin::find_clause, &[word]);
    t.reload_running();
    let found = t.get_from_store(store::FOUND);
    let handling = t.get(found, block::PARENT);
    t.jump(next, &[found, handling, clause]);
    t.enter_sealed(next);
    t.suspend_below(outermost, Case::Any);
    let reference = t.get(outermost, block::REFERENCE);
    Capture { reference, parent, signal }
}

/// Continues at `next` if the nearest `resume` has the clause for a word, or the one where the
/// stack found it the last time. If the stack was suspended and continued together with others, the
/// clause is at the same place, and no nearer one exists. Otherwise falls through.
fn capture_near(t: &mut Translator<'_>, word: Value, next: Block) {
    let current = t.current_stack();
    let through = t.get(current, block::THROUGH);
    let sought = t.get(current, block::SOUGHT);
    let again = t.ins().icmp(IntCC::Equal, sought, word);
    let outermost = t.ins().select(again, through, current);
    let parent = t.get(outermost, block::PARENT);
    let handlers = t.get(parent, block::HANDLERS);
    let further = t.cold_block();
    let signal = find_clause(&mut t.builder, handlers, word, further);
    t.jump(next, &[outermost, parent, signal]);
    t.enter_sealed(further);
}
