//! What the processor can do.

use crate::CompileError;
use std::arch::is_x86_feature_detected;

/// Fails on a machine that lacks what generated code relies on: without it,
/// Cranelift would call functions for rounding, which would run on a WebAssembly
/// stack.
pub(crate) fn check_machine() -> Result<(), CompileError> {
    let has = is_x86_feature_detected!("sse4.2")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("popcnt");
    match has {
        true => Ok(()),
        false => Err(CompileError::Machine("the processor lacks SSE4.2 or POPCNT".to_string())),
    }
}

/// Whether the machine multiplies and adds in one step.
pub(crate) fn has_fused_multiply_add() -> bool {
    is_x86_feature_detected!("fma")
}
