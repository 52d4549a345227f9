//! The thunk in which a fiber begins.

use crate::design::OperationCall;
use crate::design::thunk::Emit;
use crate::emit::clauses::find_clause;
use crate::emit::record::{Records, block, store};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Switch;
use ropewalk_abi::TrapCode;
use ropewalk_abi::stack::{ClauseKind, FIBER_EXTRAS, StackKind};
use ropewalk_abi::transfer::transfer_offset;

/// The thunk of fibers that an import makes, with a function for each event, and perhaps the tag of
/// the return event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FiberThunk {
    import: u32,
    functions: Vec<u32>,
    returning: Option<u32>,
}

impl FiberThunk {
    pub fn new(call: &OperationCall, returning: Option<u32>) -> FiberThunk {
        FiberThunk { import: call.import, functions: call.functions.clone(), returning }
    }

    pub fn emit(&self, emit: &mut Emit<'_, '_, '_>) {
        let bound = emit.env.info.function_type(self.import).params().len() - self.functions.len();
        let arguments = emit.arguments(bound + FIBER_EXTRAS);
        let instance = emit.load_word(arguments, transfer_offset(bound as u32));
        let mut switch = Switch::new();
        let blocks: Vec<_> = self.functions.iter().map(|_| emit.builder.create_block()).collect();
        for (i, block) in blocks.iter().enumerate() {
            switch.set_entry(i as u128 + 1, *block);
        }
        let otherwise = emit.builder.create_block();
        switch.emit(emit.builder, emit.signal, otherwise);
        for (block, function) in blocks.into_iter().zip(&self.functions) {
            emit.enter(block);
            self.emit_function(emit, *function, (arguments, bound), instance);
        }
        emit.enter(otherwise);
        // Only events of the fiber's list are delivered to it.
        emit.trap(TrapCode::Unreachable);
    }

    /// Calls the function of one event of a fiber.
    fn emit_function(
        &self,
        emit: &mut Emit<'_, '_, '_>,
        function: u32,
        (arguments, bound): (Value, usize),
        instance: Value,
    ) {
        let callee = emit.callee_of(function, instance);
        let mut values = emit.values_at(arguments, &callee.ty.params()[..bound]);
        values.push(emit.own_reference(StackKind::Fiber));
        values.extend(emit.received(&callee, &callee.ty.params()[bound + 1..]));
        let results = emit.call(&callee, &values);
        let Some(tag) = self.returning else {
            return emit.trap_returned(TrapCode::FiberReturned, &callee, None);
        };
        let carried = emit.transfer(callee.store).carry(&results, callee.ty.results());
        let current = emit.get(callee.store, store::STACK);
        let parent = emit.get(current, block::PARENT);
        let clauses = emit.get(parent, block::HANDLERS);
        let tag = emit.load_word(instance, emit.env.layout.tag(tag));
        let word = emit.builder.ins().iadd_imm_s(tag, ClauseKind::Event as i64);
        let unhandled = emit.builder.create_block();
        emit.builder.set_cold_block(unhandled);
        let signal = find_clause(emit.builder, clauses, word, unhandled);
        emit.finish(callee.store, signal, &carried);
        emit.enter(unhandled);
        emit.trap_returned(TrapCode::UnhandledReturn, &callee, Some(word));
    }
}
