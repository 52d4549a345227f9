//! Machine-level signatures.

use crate::translate::clif_type;
use cranelift_codegen::ir::{AbiParam, Signature, types::I64};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::signature::{Place, param_places, result_places};
use ropewalk_abi::{FuncType, ValType};

/// How many words the stub for builtins takes: the context, up to four words
/// for the builtin, and the builtin itself.
pub(crate) const BUILTIN_STUB_PARAMS: usize = 6;

/// The signature of a WebAssembly function: its context, then those parameters
/// that travel directly.
pub(crate) fn wasm(ty: &FuncType) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.push(AbiParam::new(I64));
    signature.params.extend(direct(ty.params(), param_places(ty.params())));
    signature.returns.extend(direct(ty.results(), result_places(ty.results())));
    signature
}

fn direct(types: &[ValType], places: impl Iterator<Item = Place>) -> Vec<AbiParam> {
    let direct = types.iter().zip(places).filter(|(_, place)| *place == Place::Direct);
    direct.map(|(&ty, _)| AbiParam::new(clif_type(ty))).collect()
}

/// The stub that calls a builtin on the host's stack. Both conventions pass
/// these words in the same registers; one that may throw uses `tail`, in which
/// a call with handlers expects no register to be preserved.
pub(crate) fn builtin_stub(convention: CallConv) -> Signature {
    Signature { call_conv: convention, ..words(BUILTIN_STUB_PARAMS, 1) }
}

/// The code that switches between stacks: from, to, a signal, what was
/// captured, and the store. Its results are a signal and what was captured,
/// from whoever switches back.
pub(crate) fn switch_stub() -> Signature {
    Signature { call_conv: CallConv::Tail, ..words(5, 2) }
}

/// The code that calls a function on a stack of its own.
pub(crate) fn stack_entry() -> Signature {
    words(1, 0)
}

/// The code in which a stack of a reserved import begins: its function, its
/// block, the arguments that it was made with, and a signal.
pub(crate) fn thunk() -> Signature {
    words(4, 0)
}

/// The code in which a function begins that runs on top of a suspended stack.
/// It gets what the code that switches leaves in registers, among it the stack's
/// block, the word of an event as the signal and the function as what was
/// captured; and it returns to the suspended stack as that code does.
pub(crate) fn call_thunk() -> Signature {
    Signature {
        returns: switch_stub().returns,
        ..Signature { call_conv: CallConv::Tail, ..words(4, 0) }
    }
}

/// The stub that goes back to the parent for good, with a signal.
pub(crate) fn finish_with_stub() -> Signature {
    words(2, 0)
}

/// The stub that goes back to the parent for good.
pub(crate) fn finish_stub() -> Signature {
    words(1, 0)
}

/// The stub that calls a host function: its context, the values, the function.
pub(crate) fn host_stub() -> Signature {
    words(3, 0)
}

/// The code that a host uses to enter: the values, the context, the function.
pub(crate) fn entry() -> Signature {
    words(3, 0)
}

fn words(params: usize, results: usize) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = vec![AbiParam::new(I64); params];
    signature.returns = vec![AbiParam::new(I64); results];
    signature
}
