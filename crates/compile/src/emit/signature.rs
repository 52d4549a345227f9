//! The machine-level signatures of functions and stubs.

use super::carry::{CARRIED, carrier_type};
use super::clif_type;
use cranelift_codegen::ir::{self, AbiParam, Signature, types::I8X16, types::I64};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::builtin::MAX_BUILTIN_PARAMS;
use ropewalk_abi::signature::{Passing, param_places, result_places};
use ropewalk_abi::{FuncType, ValType};

/// The words that the stub for builtins takes: the context, up to four words for the builtin, and
/// the builtin itself.
pub(crate) const BUILTIN_STUB_PARAMS: usize = MAX_BUILTIN_PARAMS + 2;

/// A WebAssembly function: its context, then the parameters that travel directly.
pub(crate) fn wasm(ty: &FuncType) -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.push(AbiParam::new(I64));
    signature.params.extend(direct(ty.params(), param_places(ty.params())));
    signature.returns.extend(direct(ty.results(), result_places(ty.results())));
    signature
}

fn direct(types: &[ValType], places: impl Iterator<Item = Passing>) -> Vec<AbiParam> {
    let direct = types.iter().zip(places).filter(|(_, place)| *place == Passing::Direct);
    direct.map(|(&ty, _)| AbiParam::new(clif_type(ty))).collect()
}

/// The stub that calls a builtin on the host's stack. Both conventions pass these words in the same
/// registers. A builtin that may throw uses `tail`, in which a call with handlers expects no
/// register to be preserved.
pub(crate) fn builtin_stub(convention: CallConv) -> Signature {
    Signature { call_conv: convention, ..words(BUILTIN_STUB_PARAMS, 1) }
}

/// The code that switches between stacks: from, to, a signal, a reference, the store, and values as
/// they travel. It returns on the next switch back, with what that switch passes in the same
/// registers. The order differs: nothing, a reference, a signal, this stack, the stack that was
/// left, the store; then the values, as vectors.
pub(crate) fn switch_stub(sent: &[ir::Type], delivered: usize) -> Signature {
    let mut signature = Signature { call_conv: CallConv::Tail, ..words(5, SWITCH_WORDS) };
    signature.params.extend(sent.iter().map(|ty| AbiParam::new(*ty)));
    signature.returns.extend([AbiParam::new(I8X16)].repeat(delivered));
    signature
}

/// The words among the results of a switch, before the values.
pub(crate) const SWITCH_WORDS: usize = 6;

/// The values of these types that travel in registers.
fn carried(types: &[ValType]) -> impl Iterator<Item = AbiParam> {
    let types = types.iter().take(CARRIED);
    types.map(|ty| AbiParam::new(carrier_type(clif_type(*ty))))
}

/// The code in which the stack of an operation begins: its function, its block, a signal, a word
/// without meaning, and values as they travel.
pub(crate) fn thunk() -> Signature {
    with_vectors(tail_words(4), CARRIED)
}

/// Adds vectors to the parameters of a signature.
fn with_vectors(mut signature: Signature, count: usize) -> Signature {
    signature.params.extend([AbiParam::new(I8X16)].repeat(count));
    signature
}

/// The code that begins a function on top of a suspended stack. Its parameters are what a switch
/// leaves in registers: the stack's block, the word of an event as the signal, and the instance as
/// the captured reference. It returns to the suspended stack as a switch does.
pub(crate) fn on_top_thunk() -> Signature {
    Signature { returns: switch_stub(&[], 0).returns, ..thunk() }
}

/// The stub that ends a stack and continues its parent, with a signal and values as they travel.
pub(crate) fn finish_with_stub(delivered: &[ir::Type]) -> Signature {
    let mut signature = tail_words(2);
    signature.params.extend(delivered.iter().map(|ty| AbiParam::new(*ty)));
    signature
}

/// The code that calls a function on a new stack: the function, and arguments as they travel.
pub(crate) fn stack_entry(ty: &FuncType) -> Signature {
    let mut signature = tail_words(1);
    signature.params.extend(carried(ty.params()));
    signature
}

/// The stub that ends a stack and continues its parent: the store, and results as they travel.
pub(crate) fn finish_stub(ty: &FuncType) -> Signature {
    let mut signature = tail_words(1);
    signature.params.extend(carried(ty.results()));
    signature
}

/// The stub that a function calls when it must stop: the store. It preserves every register, so the
/// values of the function stay where they are.
pub(crate) fn pause_stub() -> Signature {
    Signature { call_conv: CallConv::PreserveAll, ..words(1, 0) }
}

/// The stub that calls a host function: its context, the values, the function.
pub(crate) fn host_stub() -> Signature {
    words(3, 0)
}

/// The code by which the host enters: the values, the context, the function.
pub(crate) fn entry() -> Signature {
    words(3, 0)
}

/// Words in the same registers as the `tail` convention, for code that ends in a jump.
fn tail_words(params: usize) -> Signature {
    Signature { call_conv: CallConv::Tail, ..words(params, 0) }
}

fn words(params: usize, results: usize) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params = vec![AbiParam::new(I64); params];
    signature.returns = vec![AbiParam::new(I64); results];
    signature
}
