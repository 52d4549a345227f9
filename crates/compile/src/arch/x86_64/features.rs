//! Features of the processor.

use crate::CompileError;
use std::arch::is_x86_feature_detected;

/// Fails if the processor lacks a feature that generated code relies on. Without it, Cranelift
/// would call library functions for rounding, on a WebAssembly stack.
pub(crate) fn check_machine() -> Result<(), CompileError> {
    let has = is_x86_feature_detected!("sse4.2")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("popcnt");
    match has {
        true => Ok(()),
        false => Err(CompileError::Machine("the processor lacks SSE4.2 or POPCNT".to_string())),
    }
}

/// Whether the processor has a fused multiply-add instruction.
pub(crate) fn has_fused_multiply_add() -> bool {
    is_x86_feature_detected!("fma")
}
