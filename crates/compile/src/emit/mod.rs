//! What all emitted code shares: that of functions, of thunks and of trampolines.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`record`] | the records of `abi`, field by field |
//! | [`transfer`] | putting values into the transfer area, and taking them out |
//! | [`carry`] | values that travel in registers when stacks are switched |
//! | [`clauses`] | finding a clause in a list |
//! | [`same_image`] | referring to other code of the same image |

pub(crate) mod carry;
pub(crate) mod clauses;
pub(crate) mod record;
pub(crate) mod same_image;
pub(crate) mod transfer;

use crate::translate::trap;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::I64};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::TrapCode;

/// Opens the first block of a function; returns its parameters.
pub(crate) fn open_function(builder: &mut FunctionBuilder<'_>) -> Vec<Value> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    builder.block_params(entry).to_vec()
}

/// Makes sure that a word can be pushed. From here to the next call or switch, no
/// access to the frame faults, and so the stack stays where it is.
pub(crate) fn check_room(builder: &mut FunctionBuilder<'_>) {
    let sp = builder.ins().get_stack_pointer(I64);
    let flags = MemFlagsData::new().with_trap_code(Some(trap(TrapCode::CallStackExhausted)));
    builder.ins().load(I64, flags, sp, -(size_of::<usize>() as i32));
}
