//! x86-64: the code between the host's stack and WebAssembly's.
//!
//! | register | in generated code | in the stubs |
//! | --- | --- | --- |
//! | `rsp`, `rbp` | the frame on a WebAssembly stack | as in generated code, or those of the host |
//! | `rdi` | the first argument: the context, whose first word is the store | the same |
//! | `rax`, `rdx` | results | the outcome of a host call |
//! | `r10` | | the store's context |
//! | `r11` | the old frame pointer, before a tail call | the block of the running stack |
//! | `rbx`, `r12` to `r15` | values; the host preserves them | the same |
//!
//! `arch` in the compiler describes the registers of a switch.
//!
//! Entering. `enter` saves the registers that the host's calling convention preserves, and stores
//! the host's stack pointer in the store. Then it calls the entry trampoline on a root stack:
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
//! Calling the host. The stub saves the stack pointer and frame pointer in the control block of the
//! running stack. Then it goes to the host's stack and calls. For a host function, the trampoline
//! has put the values below `host_sp`, and the call is below them:
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
//! When the host returns, `rsp` and `rbp` come from the control block again, so the stack can have
//! moved. The host preserves its callee-saved registers, so the values in them survive.
//!
//! Ending. `leave` goes back to `host_sp` and returns from `enter`, whatever is on the WebAssembly
//! stacks. A stub jumps to it if a builtin or host function returns
//! [`END`](ropewalk_abi::builtin::END). A signal handler makes the thread continue there.
//!
//! Switching. Generated code switches between WebAssembly stacks by itself. A suspended stack looks
//! as in a host call, with the address to continue at on top. A new stack continues at `start`, and
//! ends in `finish`.
//!
//! Catching. The code that throws an exception writes the handler's frame into the control block
//! and its address into the store, and returns [`CATCH`](ropewalk_abi::builtin::CATCH). The stub
//! continues there.

pub(crate) mod bytes;
pub(crate) mod frames;
pub(crate) mod interrupted;
pub(crate) mod stubs;
pub(crate) mod unwind;
