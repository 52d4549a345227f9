//! x86-64.
//!
//! What is in which register when a stack is left and another one continues:
//!
//! | register | before the switch | after it |
//! | --- | --- | --- |
//! | `rdi` | the block of the stack that is left | the same |
//! | `rsi` | the block of the stack that continues | the same |
//! | `rdx` | the signal | the same |
//! | `rcx` | a reference: what was captured | the same |
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
//! Then the address on top of the stack that continues is taken off, and jumped to.

mod features;
mod switch;

pub(crate) mod relaxed;
mod room;

pub(crate) use features::{check_machine, has_fused_multiply_add};
pub(crate) use room::is_check_for_room;
pub(crate) use switch::{CONTINUE_BELOW, PROBE_STACK, place_switch};

use cranelift_codegen::binemit::Reloc;

/// Fills the gaps between functions: `int3`.
pub(crate) const PADDING: u8 = 0xcc;

/// Whether a relocation is a distance of 32 bits from where it stands.
pub(crate) fn is_near(kind: Reloc) -> bool {
    matches!(kind, Reloc::X86CallPCRel4 | Reloc::X86PCRel4)
}
