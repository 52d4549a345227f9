//! Events: the clauses that a stack waits with, and finding the one for an event.

use crate::design::call::OperationCall;
use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block};
use crate::handlers::clauses_of_call;
use crate::translate::Translator;
use crate::translate::switching::Delivery;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
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
        self.keep_through(current);
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
        find_clause(&mut self.builder, list, word, unhandled)
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
        let blocks = (1..).zip(clauses).map(|(number, _)| (number, self.builder.create_block()));
        let blocks: Vec<(u32, Block)> = blocks.collect();
        let Some(((_, last), others)) = blocks.split_last() else { return };
        self.branch_by_signal(delivery.signal, others, *last);
        for ((_, block), (tag, label)) in blocks.iter().zip(clauses) {
            self.enter_sealed(*block);
            let height = self.stack.len();
            self.receive(env.info.tag_type(*tag).params(), delivery);
            self.branch_to(*label);
            self.stack.truncate(height);
        }
        let after = self.builder.create_block();
        self.enter_sealed(after);
    }
}
