//! The thunk in which a function begins that runs on top of a suspended stack.

use crate::design::OperationCall;
use crate::design::thunk::Emit;
use crate::emit::Callee;
use crate::emit::clauses::find_clause;
use crate::emit::code_ref::continue_below;
use crate::emit::record::{Records, block, store};
use cranelift_codegen::ir::{InstBuilder, Value};
use ropewalk_abi::{Builtin, TrapCode};

/// The thunk of a function that runs on top of a suspended stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OnTopThunk {
    pub function: u32,
    /// Whether it returns with an event.
    pub delivers: bool,
    pub extends: bool,
}

impl OnTopThunk {
    pub fn new(call: &OperationCall, delivers: bool, extends: bool) -> OnTopThunk {
        OnTopThunk { function: call.functions[0], delivers, extends }
    }

    /// Calls the function as if the instruction at which the stack is suspended had called it. Then
    /// continues that instruction with an event.
    pub fn emit(&self, emit: &mut Emit<'_, '_, '_>) {
        let (word, instance) = (emit.signal, emit.captured);
        let callee = emit.callee_of(self.function, instance);
        let received = emit.received(&callee, callee.ty.params());
        if !self.delivers {
            emit.call(&callee, &received);
            let code = match self.extends {
                true => TrapCode::RoutReturned,
                false => TrapCode::ReturnedToSuspended,
            };
            return emit.trap_returned(code, &callee, None);
        }
        // While the function runs, other frames may wait on this stack, but the frame below stays
        // the same.
        let clauses = emit.get(emit.block, block::HANDLERS);
        let thrown = emit.builder.create_block();
        emit.builder.set_cold_block(thrown);
        let signal = find_clause(emit.builder, clauses, word, thrown);
        let results = self.call(emit, &callee, &received);
        continue_suspended(emit, &callee, signal, &results);
        emit.enter(thrown);
        let results = self.call(emit, &callee, &received);
        emit.transfer(callee.store).put_all(&results, callee.ty.results());
        throw_event(emit, &callee, word);
    }

    /// Calls the function. A rout must have started before it returns: otherwise it has nothing to
    /// return to.
    fn call(
        &self,
        emit: &mut Emit<'_, '_, '_>,
        callee: &Callee<'_>,
        values: &[Value],
    ) -> Vec<Value> {
        let results = emit.call(callee, values);
        if self.extends {
            let base = emit.get(callee.store, store::BASE);
            let extender = emit.get(base, block::EXTENDER);
            let [early, started] = [(); 2].map(|()| emit.builder.create_block());
            emit.builder.set_cold_block(early);
            emit.builder.ins().brif(extender, early, &[], started, &[]);
            emit.enter(early);
            emit.trap_returned(TrapCode::RoutReturned, callee, None);
            emit.enter(started);
        }
        results
    }
}

/// Continues the instruction at which the stack is suspended.
fn continue_suspended(
    emit: &mut Emit<'_, '_, '_>,
    callee: &Callee<'_>,
    signal: Value,
    values: &[Value],
) {
    let store = callee.store;
    let carried = emit.transfer(store).carry(values, callee.ty.results());
    let stack = emit.get(store, store::STACK);
    let reference = emit.get(stack, block::REFERENCE);
    continue_below(emit.builder, store, stack, signal, reference, &carried);
}

/// Throws an event at the instruction at which the stack is suspended.
fn throw_event(emit: &mut Emit<'_, '_, '_>, callee: &Callee<'_>, word: Value) {
    emit.call_last(callee, Builtin::event_return, &[word]);
}
