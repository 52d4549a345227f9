//! Functions that run on top of a suspended stack.
//!
//! `stack.switch_call` runs a function as if the instruction at which another
//! stack is suspended had called it, and then continues that instruction with an
//! event. A thunk does this for any function. A short function is instead
//! compiled once more: this copy begins and ends as a thunk does, so that there
//! is no call.

use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block, store};
use crate::emit::same_image::continue_below;
use crate::handlers::Contents;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::{Builtin, FuncType, TrapCode, ValType};

/// How a function begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// By a call, to which it returns.
    ByCall,
    /// On top of a suspended stack, which it continues with an event, or not at
    /// all.
    OnTop { delivers: bool },
}

impl Entered {
    /// How many of its parameters are words of the engine.
    pub fn words(self) -> usize {
        match self {
            Entered::ByCall => 1,
            Entered::OnTop { .. } => 4,
        }
    }
}

/// What a function on top of a stack must know in the end.
pub(crate) struct OnTop {
    /// The block of the stack, if it cannot change meanwhile.
    block: Option<Value>,
    /// The signal for the event with which it returns, or the word of the event
    /// with all bits inverted if nothing below catches it. Signals count clauses,
    /// of which there may be very many, and words are addresses: none of them is
    /// negative, so the sign tells which it is. None if it must not return.
    outcome: Option<Value>,
}

impl Translator<'_> {
    /// Opens the body of a function on top of a stack. Returns its parameters.
    pub(crate) fn enter_on_top(
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

    /// Looks up who will catch the event: while the function runs, others may wait
    /// on this stack, but what waits below stays the same.
    fn outcome(&mut self, block: Value, word: Value) -> Value {
        let clauses = self.get(block, block::HANDLERS);
        let [none, next] = [self.cold_block(), self.builder.create_block()];
        let [outcome] = self.words(next);
        let signal = find_clause(&mut self.builder, clauses, word, none);
        self.jump(next, &[signal]);
        self.enter_sealed(none);
        let thrown = self.builder.ins().bnot(word);
        self.jump(next, &[thrown]);
        self.enter_sealed(next);
        outcome
    }

    /// Ends a function on top of a stack, with its results.
    pub(crate) fn return_below(&mut self, values: &[Value], types: &[ValType]) {
        let Some(OnTop { block, outcome: Some(outcome) }) = self.on_top else {
            self.builder.ins().trap(trap(TrapCode::ReturnedToSuspended));
            return;
        };
        let is_signal = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, outcome, 0);
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
        let word = self.builder.ins().bnot(outcome);
        self.call_builtin(Builtin::event_return, &[word]);
        self.builder.ins().trap(trap(TrapCode::Unreachable));
    }
}
