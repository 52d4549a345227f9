//! Events: the clauses that a stack waits with, and finding the one for an event.

use crate::design::call::OperationCall;
use crate::emit::record::{Records, block};
use crate::handlers::clauses_of_call;
use crate::translate::Translator;
use crate::translate::switching::Delivery;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::stack::ClauseKind;

impl Translator<'_> {
    /// Notes the clauses of a call, by which the running stack is found.
    pub(crate) fn note_clauses(&mut self, call: &OperationCall) {
        let current = self.current_stack();
        let clauses = self.clause_list(call);
        self.set_if_different(current, block::HANDLERS, clauses);
    }

    /// Makes the running stack wait for another, with the clauses of a call.
    pub(crate) fn wait(&mut self, call: &OperationCall) {
        self.note_clauses(call);
        let current = self.current_stack();
        self.forget_any_through(current);
    }

    /// The address of the clauses of a call.
    pub(crate) fn clause_list(&mut self, call: &OperationCall) -> Value {
        let clauses = clauses_of_call(call);
        let number = self.env.lists.get(&clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number);
        let context = self.running_context();
        self.builder.ins().iadd_imm_s(context, i64::from(offset))
    }

    /// The word by which clauses for an event are found.
    pub(crate) fn event_word(&mut self, tag: u32) -> Value {
        self.handler_word(tag, ClauseKind::Event)
    }

    /// Looks an event up in the clauses of the stack that would receive it;
    /// returns the signal, or continues at a block.
    pub(crate) fn look_up(&mut self, tag: u32, receiver: Value, unhandled: Block) -> Value {
        let list = self.get(receiver, block::HANDLERS);
        let word = self.event_word(tag);
        find_event(&mut self.builder, list, word, unhandled)
    }

    /// How many values at most come with the event of a clause.
    pub(crate) fn most_values(&self, clauses: &[(u32, u32)]) -> usize {
        let count = |(tag, _): &(u32, u32)| self.env.info.tag_type(*tag).params().len();
        clauses.iter().map(count).max().unwrap_or(0)
    }

    /// Branches to the label of the clause that the signal names, with the
    /// values that came. Each signal names one.
    pub(crate) fn branch_to_clause(&mut self, delivery: &Delivery, clauses: &[(u32, u32)]) {
        let env = self.env;
        for (i, (tag, label)) in clauses.iter().enumerate() {
            let number = i as i64 + 1;
            let is_clause = self.builder.ins().icmp_imm_u(IntCC::Equal, delivery.signal, number);
            let [clause, next] = [self.builder.create_block(), self.builder.create_block()];
            match i + 1 == clauses.len() {
                true => self.jump(clause, &[]),
                false => {
                    self.builder.ins().brif(is_clause, clause, &[], next, &[]);
                }
            }
            self.enter_sealed(clause);
            let height = self.stack.len();
            self.receive(env.info.tag_type(*tag).params(), delivery);
            let (block, operands) = self.branch(*label);
            self.jump(block, &operands);
            self.stack.truncate(height);
            self.enter_sealed(next);
        }
    }
}

/// The number of a word in a list of clauses, counted from one. If it is not
/// there, continues at a block.
pub(crate) fn find_event(
    builder: &mut FunctionBuilder<'_>,
    list: Value,
    word: Value,
    none: Block,
) -> Value {
    let [begin, search, other, found] = std::array::from_fn(|_| builder.create_block());
    let [number, clause] = [(); 2].map(|()| builder.append_block_param(search, I64));
    let signal = builder.append_block_param(found, I64);
    let one = builder.ins().iconst(I64, 1);
    let load = |builder: &mut FunctionBuilder<'_>, place| {
        builder.ins().load(I64, MemFlagsData::trusted(), place, 0)
    };
    let first = load(builder, list);
    let is_first = builder.ins().icmp(IntCC::Equal, word, first);
    builder.ins().brif(is_first, found, &[one.into()], begin, &[]);
    builder.switch_to_block(begin);
    builder.seal_block(begin);
    let first = load(builder, list);
    builder.ins().jump(search, &[one.into(), first.into()]);
    builder.switch_to_block(search);
    builder.ins().brif(clause, other, &[], none, &[]);
    builder.switch_to_block(other);
    builder.seal_block(other);
    let offset = builder.ins().ishl_imm_u(number, i64::from(size_of::<u64>().trailing_zeros()));
    let place = builder.ins().iadd(list, offset);
    let clause = load(builder, place);
    let next = builder.ins().iadd_imm_s(number, 1);
    let is_this = builder.ins().icmp(IntCC::Equal, clause, word);
    builder.ins().brif(is_this, found, &[next.into()], search, &[next.into(), clause.into()]);
    builder.seal_block(search);
    builder.switch_to_block(found);
    builder.seal_block(found);
    signal
}
