//! The x86-64 half of the compiler: the switch between stacks, and probes.
//!
//! The registers when one stack is left and another one continues:
//!
//! | register | before the switch | after it |
//! | --- | --- | --- |
//! | `rdi` | the block of the stack that is left | the same |
//! | `rsi` | the block of the stack that continues | the same |
//! | `rdx` | the signal | the same |
//! | `rcx` | the reference to the captured stacks | the same |
//! | `r8` | the store's context | the same |
//! | `xmm0`, `xmm1`, `xmm2` | the first values | the same |
//! | `rsp`, `rbp` | of the stack that is left | of the stack that continues |
//! | all others | | lost |
//!
//! ```text
//!     stack that is left                    stack that continues
//!     | frames             |                | frames             |
//!     | address after the  |                | address after the  |
//!     |   jump (r9)        |                |   jump             |
//!       ^ rsp --> ControlBlock::sp            ^ ControlBlock::sp --> rsp
//!         rbp --> ControlBlock::fp              ControlBlock::fp --> rbp
//! ```
//!
//! Finally the address on top of the stack that continues is popped and jumped to.

mod check_room;
mod features;
pub(crate) mod relaxed;
mod switch;

pub(crate) use check_room::is_check_for_room;
pub(crate) use features::{check_machine, has_fused_multiply_add};
pub(crate) use switch::{CONTINUE_BELOW, PROBE_STACK, place_switch};

use cranelift_codegen::binemit::Reloc;

/// Fills the gaps between functions: `int3`.
pub(crate) const PADDING: u8 = 0xcc;

/// Whether a relocation is a 32-bit distance from its own place.
pub(crate) fn is_near(kind: Reloc) -> bool {
    matches!(kind, Reloc::X86CallPCRel4 | Reloc::X86PCRel4)
}
