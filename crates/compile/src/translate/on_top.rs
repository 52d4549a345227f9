//! Functions that run on top of a suspended stack.
//!
//! `stack.switch_call` runs a function as if the instruction at which another stack is suspended
//! had called it, and then continues that instruction with an event. A thunk does this for any
//! function. A short function is instead compiled a second time. The copy begins and ends as a
//! thunk does, which saves the call.

use super::Translator;
use super::contents::Contents;
use crate::emit::clauses::find_clause;
use crate::emit::code_ref::continue_below;
use crate::emit::record::{Records, block, store};
use crate::emit::trap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::{Builtin, FuncType, TrapCode, ValType};

/// How a function begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// By a call, to which the function returns.
    ByCall,
    /// On top of a suspended stack. The function continues the stack with an event, or must not
    /// return.
    OnTop { delivers: bool },
}

impl Entered {
    /// How many of the parameters are pointers of the engine.
    pub(crate) fn words(self) -> usize {
        match self {
            Entered::ByCall => 1,
            Entered::OnTop { .. } => 4,
        }
    }
}

/// What a function on top of a stack needs to return.
pub(super) struct OnTop {
    /// The block of the stack, if it cannot change while the function runs.
    block: Option<Value>,
    /// The signal for the event with which it returns, or the inverted word of the event if no
    /// clause handles it. Signals count clauses, and words are addresses. Neither is ever negative,
    /// so the sign tells them apart. None if the function must not return.
    outcome: Option<Value>,
}

impl Translator<'_> {
    /// Opens a function on top of a stack; returns its parameters.
    pub(super) fn enter_on_top(
        &mut self,
        params: &[Value],
        ty: &FuncType,
        delivers: bool,
        contents: &Contents,
    ) -> Vec<Value> {
        let &[_, block, word, context, ref carried @ ..] = params else {
            unreachable!("a thunk has four words and then values as parameters");
        };
        self.context = context;
        let values = self.transfer().receive(carried, ty.params());
        let outcome = delivers.then(|| self.outcome(block, word));
        let block = (!contents.calls).then_some(block);
        self.on_top = Some(OnTop { block, outcome });
        values
    }

    /// Looks up the clause for the event. While the function runs, other frames may wait on this
    /// stack, but the frame below stays the same.
    fn outcome(&mut self, block: Value, word: Value) -> Value {
        let clauses = self.get(block, block::HANDLERS);
        let [none, next] = [self.cold_block(), self.builder.create_block()];
        let [outcome] = self.words(next);
        let signal = find_clause(&mut self.builder, clauses, word, none);
        self.jump(next, &[signal]);
        self.enter_sealed(none);
        let thrown = self.ins().bnot(word);
        self.jump(next, &[thrown]);
        self.enter_sealed(next);
        outcome
    }

    /// Returns from a function on top of a stack.
    pub(super) fn return_below(&mut self, values: &[Value], types: &[ValType]) {
        let Some(OnTop { block, outcome: Some(outcome) }) = self.on_top else {
            self.ins().trap(trap(TrapCode::ReturnedToSuspended));
            return;
        };
        let is_signal = self.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, outcome, 0);
        let thrown = self.cold_block();
        self.continue_if(is_signal, thrown);
        let stack = match block {
            Some(block) => block,
            None => self.get_from_store(store::STACK),
        };
        let reference = self.get(stack, block::REFERENCE);
        let carried = self.carry(values, types);
        let store = self.store_context();
        continue_below(&mut self.builder, store, stack, outcome, reference, &carried);
        self.enter_sealed(thrown);
        self.put_all(values, types);
        let word = self.ins().bnot(outcome);
        self.call_builtin(Builtin::event_return, &[word]);
        self.ins().trap(trap(TrapCode::Unreachable));
    }
}
