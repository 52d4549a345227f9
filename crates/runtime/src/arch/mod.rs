//! What the runtime has to do with the machine.
//!
//! Each machine is a folder with the same verbs:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `stubs` | `enter`, `leave`, and calling the host; where stacks begin and end |
//! | `bytes` | copying and filling a few bytes without a stack |
//! | `interrupted` | the registers of a thread that a signal has interrupted |
//! | `frames` | what functions do before their frame is linked into the chain |
//!
//! The functions that stubs call are in [`calls`]. The other half is `arch` of the compiler.

pub(crate) mod calls;
pub(crate) mod fault;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("Ropewalk runs on x86-64 only: another machine needs a folder in `arch`");
