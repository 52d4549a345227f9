//! x86-64: the few instructions between the host's stack and WebAssembly's.
//!
//! | register | in generated code | in the stubs |
//! | --- | --- | --- |
//! | `rsp`, `rbp` | the frame on a WebAssembly stack | those of the block, or the host's |
//! | `rdi` | the first argument: the context, whose first word is the store | the same |
//! | `rax`, `rdx` | results | the outcome of what the host was called for |
//! | `r10` | | the store's context |
//! | `r11` | the old frame pointer, before a tail call | the block of the running stack |
//! | `rbx`, `r12` to `r15` | values; the host preserves them | the same |
//!
//! What a switch does with registers is in `arch` of the compiler.
//!
//! Entering. `enter` saves what the host's convention wants preserved on the
//! host's stack, notes that place in the store, and calls the entry trampoline
//! on a root stack:
//!
//! ```text
//!   host's stack                        root stack
//!   | frames of the host     |          | (empty)              | high
//!   | return address         |          | return into `enter`  |
//!   | rbp rbx r12 r13 r14 r15|          | entry trampoline     |
//!   | store                  | <------- | functions ...        |
//!     ^ StoreContext::host_sp             ^ rsp
//! ```
//!
//! Calling the host. The stub notes where WebAssembly was left in the control
//! block of the running stack, goes to the host's stack below `host_sp` (for a
//! host function below its values, which the trampoline put there), and calls:
//!
//! ```text
//!   | store                  | host_sp  | functions ...        |
//!   | values                 |          | trampoline           |
//!   | store                  |          | return into it       |
//!   | return into the stub   |            ^ ControlBlock::sp
//!   | frames of the host     |
//!     ^ rsp
//! ```
//!
//! When it returns, rsp and rbp come from the control block again, wherever the
//! memory of the stack is by then. The host preserves the registers that its
//! convention wants preserved, so WebAssembly's values in them survive.
//!
//! Ending. `leave` goes back to `host_sp` and returns from `enter`, whatever is
//! left on any WebAssembly stack. A builtin or host function that does not want
//! WebAssembly to continue returns that, and the handler of signals makes it the place
//! where the thread continues.
//!
//! Switching. Generated code leaves one WebAssembly stack and continues another
//! by itself; both are left like in a host call, with the address to continue
//! at on top. A new stack continues at `start`, and ends in `finish`.
//!
//! Catching. One that throws an exception says so after it has written into
//! the control block where the handler's frame is and its code; the stub goes
//! on there.

pub(crate) mod bytes;
pub(crate) mod frames;
pub(crate) mod interrupted;
pub(crate) mod stubs;
pub(crate) mod unwind;
