//! Clauses: which tags and events a stack handles, and the search for the clause of an event.

use super::Delivery;
use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block};
use crate::module::clause_list::{ClauseList, event_clauses};
use crate::translate::Translator;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::ClauseKind;

impl Translator<'_> {
    /// Sets the events that the running stack handles while it waits or is suspended.
    pub(crate) fn set_clauses(&mut self, events: &[(u32, u32)]) {
        let current = self.current_stack();
        let clauses = self.event_list(events);
        self.set_if_different(current, block::HANDLERS, clauses);
    }

    /// Makes the running stack wait for another, and handle these events.
    pub(crate) fn wait(&mut self, events: &[(u32, u32)]) {
        self.set_clauses(events);
        let current = self.current_stack();
        self.keep_through(current);
    }

    /// The address of the clause list for events, which are given with their labels.
    pub(crate) fn event_list(&mut self, events: &[(u32, u32)]) -> Value {
        self.clause_list(&event_clauses(events))
    }

    pub(crate) fn clause_list(&mut self, clauses: &ClauseList) -> Value {
        let number = self.env.clause_lists.get(clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number);
        let context = self.running_context();
        self.ins().iadd_imm_s(context, i64::from(offset))
    }

    /// The word of a clause. It is loaded each time: hoisting it would also keep it in memory,
    /// since no register survives a switch.
    pub(crate) fn clause_word(&mut self, tag: u32, kind: ClauseKind) -> Value {
        self.trace_tag(tag);
        let offset = self.env.layout.tag(tag);
        let context = self.running_context();
        let word = self.ins().load(I64, MemFlagsData::trusted(), context, offset);
        match kind {
            ClauseKind::Suspend => word,
            _ => self.ins().iadd_imm_s(word, kind as i64),
        }
    }

    /// The word of the clauses for an event.
    pub(crate) fn event_word(&mut self, tag: u32) -> Value {
        self.clause_word(tag, ClauseKind::Event)
    }

    /// Looks up an event in the clauses of its receiver. Returns the signal, or continues at
    /// `unhandled`.
    pub(crate) fn look_up(&mut self, tag: u32, receiver: Value, unhandled: Block) -> Value {
        let list = self.get(receiver, block::HANDLERS);
        let word = self.event_word(tag);
        if !self.env.modes.trace {
            return find_clause(&mut self.builder, list, word, unhandled);
        }
        let refused = self.cold_block();
        let signal = find_clause(&mut self.builder, list, word, refused);
        let found = self.builder.current_block().expect("the block after the search");
        self.enter_sealed(refused);
        self.trace_refuse(receiver, tag);
        self.jump(unhandled, &[]);
        self.builder.switch_to_block(found);
        signal
    }

    /// The most values that an event brings.
    pub(crate) fn most_values(&self, events: &[(u32, u32)]) -> usize {
        let count = |(tag, _): &(u32, u32)| self.env.info.tag_type(*tag).params().len();
        events.iter().map(count).max().unwrap_or(0)
    }

    /// Branches to the label of the event that the signal names, with the values that came. Every
    /// signal names one.
    pub(crate) fn branch_to_clause(&mut self, delivery: &Delivery, events: &[(u32, u32)]) {
        let env = self.env;
        let blocks = (1..).zip(events).map(|(number, _)| (number, self.builder.create_block()));
        let blocks: Vec<(u32, Block)> = blocks.collect();
        let Some(((_, last), others)) = blocks.split_last() else { return };
        self.branch_by_signal(delivery.signal, others, *last);
        for ((_, block), (tag, label)) in blocks.iter().zip(events) {
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
