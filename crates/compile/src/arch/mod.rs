//! Machine code that Cranelift does not generate, and features of the processor.
//!
//! Each architecture is a folder with the same verbs:
//!
//! | verb | |
//! | --- | --- |
//! | `check_machine`, `has_fused_multiply_add` | features of the processor |
//! | `is_near` | which relocations are distances that the [linker](crate::codegen::image) fills in |
//! | `PADDING` | fills the gaps between functions |
//! | `PROBE_STACK`, `CONTINUE_BELOW`, `place_switch` | code outside of functions |
//! | `is_check_for_room` | whether the stack can move at a check for room |
//! | `relaxed` | the machine instructions for relaxed vector instructions |
//!
//! The other half is the runtime's `arch`.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("Ropewalk generates code for x86-64 only: another machine needs a folder in `arch`");
