//! The thunk in which a stack of the bag begins.

use crate::design::thunk::{Emit, function_of};
use ropewalk_abi::TrapCode;

/// The thunk of the stacks that an import makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackThunk {
    pub import: u32,
}

impl StackThunk {
    pub fn emit(&self, emit: &mut Emit<'_, '_, '_>) {
        let info = emit.env.info;
        let function_type = function_of(info.function_type(self.import).params().last(), emit.env);
        let callee = emit.callee(emit.function, function_type);
        let received = emit.received(&callee, callee.ty.params());
        emit.call(&callee, &received);
        emit.trap_returned(TrapCode::CoroutineReturned, &callee, None);
    }
}
