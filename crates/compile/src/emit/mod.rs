//! Building blocks of the code of functions, thunks and trampolines.
//!
//! | file | contents |
//! | --- | --- |
//! | [`value`] | types, traps and load flags in Cranelift's terms |
//! | [`signature`] | the signatures of functions and stubs |
//! | [`record`] | the records of `abi`, field by field |
//! | [`transfer`] | writing values to the transfer area, and reading them |
//! | [`carry`] | values that travel in registers when stacks are switched |
//! | [`clauses`] | finding a clause in a list |
//! | [`code_ref`] | references to other code of the same image |

pub(crate) mod carry;
pub(crate) mod clauses;
pub(crate) mod code_ref;
pub(crate) mod record;
pub(crate) mod signature;
pub(crate) mod transfer;
mod value;

pub(crate) use value::{clif_type, constant_flags, load_values, program_value, store_values, trap};

use crate::emit::transfer::Transfer;
use crate::target::Target;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::I64};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::signature::{param_places, result_places};
use ropewalk_abi::{FuncType, TrapCode};

/// Opens the first block of a function; returns its parameters.
pub(crate) fn open_function(builder: &mut FunctionBuilder<'_>) -> Vec<Value> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    builder.block_params(entry).to_vec()
}

/// Makes sure that a word can be pushed. From here to the next call or switch, no access to the
/// frame faults, so the stack does not move.
pub(crate) fn check_room(builder: &mut FunctionBuilder<'_>) {
    let sp = builder.ins().get_stack_pointer(I64);
    let flags = MemFlagsData::new().with_trap_code(Some(trap(TrapCode::CallStackExhausted)));
    builder.ins().load(I64, flags, sp, -(size_of::<usize>() as i32));
}

/// A function that is called from outside of function bodies.
pub(crate) struct Callee<'t> {
    pub ty: &'t FuncType,
    pub code: Value,
    pub context: Value,
    pub store: Value,
}

impl Callee<'_> {
    /// Calls the function; returns its results.
    pub fn call(
        &self,
        target: &Target,
        builder: &mut FunctionBuilder<'_>,
        values: &[Value],
    ) -> Vec<Value> {
        let Callee { ty, code, context, store } = *self;
        let mut args = vec![context];
        let mut transfer = Transfer::of(target, builder, store);
        args.extend(transfer.scatter(values, ty.params(), param_places(ty.params())));
        let signature = builder.import_signature(signature::wasm(ty));
        let call = builder.ins().call_indirect(signature, code, &args);
        let direct = builder.inst_results(call).to_vec();
        let places = result_places(ty.results());
        Transfer::of(target, builder, store).gather(&direct, ty.results(), places)
    }
}
