//! The thunk in which a task begins.

use crate::design::thunk::{Emit, function_of};
use cranelift_codegen::ir::{InstBuilder, types::I64};
use ropewalk_abi::stack::StackKind;

/// The thunk of the tasks that an import makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TaskThunk {
    pub import: u32,
}

impl TaskThunk {
    pub fn emit(&self, emit: &mut Emit<'_, '_, '_>) {
        let info = emit.env.info;
        let import = info.function_type(self.import);
        let callee = emit.callee(emit.function, function_of(import.params().last(), emit.env));
        let bound = import.params().len() - 1;
        let middle = callee.ty.params().len() - bound;
        let mut values = vec![emit.own_reference(StackKind::Task)];
        values.extend(emit.received(&callee, &callee.ty.params()[1..middle]));
        if bound > 0 {
            let arguments = emit.arguments(bound);
            values.extend(emit.values_at(arguments, &callee.ty.params()[middle..]));
        }
        let results = emit.call(&callee, &values);
        let carried = emit.transfer(callee.store).carry(&results, callee.ty.results());
        let none = emit.builder.ins().iconst(I64, 0);
        emit.finish(callee.store, none, &carried);
    }
}
