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

use cranelift_codegen::ir::Value;
use cranelift_frontend::FunctionBuilder;

/// Opens the first block of a function; returns its parameters.
pub(crate) fn open_function(builder: &mut FunctionBuilder<'_>) -> Vec<Value> {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    builder.block_params(entry).to_vec()
}
