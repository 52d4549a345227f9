//! What generated code has to do with the machine, and Cranelift does not do.
//!
//! Each machine is a folder with the same verbs:
//!
//! | verb | |
//! | --- | --- |
//! | `check_machine`, `has_fused_multiply_add` | what the processor can do |
//! | `is_near` | which relocations are distances that [`image`](crate::image) fills in |
//! | `PADDING` | what lies between functions |
//! | `PROBE_STACK`, `CONTINUE_BELOW`, `place_switch` | the code that is in no function |
//! | `is_check_for_room` | whether the stack can move where room is checked for |
//! | `relaxed` | the instructions that relaxed vector instructions are |
//!
//! The other half is the runtime's `arch`.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("Ropewalk generates code for x86-64 only: another machine needs a folder in `arch`");
