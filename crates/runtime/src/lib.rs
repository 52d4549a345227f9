//! Stores and what lives in them: instances, memories, tables, stacks; entering
//! WebAssembly, leaving it, and what happens when it goes wrong.
//!
//! The crate knows nothing of Cranelift: it gets code as bytes with tables.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`store`] | a store: the owner of everything else |
//! | [`instance`], [`link`] | instantiation |
//! | [`memory`], [`memory_image`], [`table`] | what instances are made of |
//! | [`heap`] | objects and the collector |
//! | [`exception`], [`frames`] | throwing, and walking the frames of a stack |
//! | [`stack`] | the table of stacks, their memory, and moving it |
//! | [`arch`] | what depends on the machine: the assembly between the two kinds of stacks, registers |
//! | [`activation`] | a call from the host into WebAssembly |
//! | [`pending`] | activations that wait for a host function |
//! | [`interrupt`], [`timer`] | stopping what runs, and when |
//! | [`fuel`] | how much may be executed |
//! | [`limiter`], [`machine_memory`] | how much a store may have |
//! | [`embedder`] | calling code of the embedder, and what it panics with |
//! | [`held`] | continuations in the hands of the host |
//! | [`from_host`] | tasks, fibers and stacks that the host continues |
//! | [`builtins`] | what generated code calls |
//! | [`signal`], [`fault`], [`complaint`] | faults become traps, or end the process |
//! | [`backtrace`], [`source`], [`trap`], [`host_error`], [`describe`], [`printed`] | what an embedder sees of a trap |
//! | [`trace`], [`profile`], [`frames_tree`] | recording what stacks do, and sampling where they are |
//! | [`design`] | what the designs need beyond generated code |
//! | [`try_box`] | a box, if there is memory |
//! | [`code`], [`known_code`], [`types`] | loaded code; types that are the same throughout an engine |
//! | [`perf_map`], [`jitdump`], [`debugger`], [`lines`] | what `perf` and debuggers are told of code |
//! | [`precompiled`] | compiled modules in files |
//! | [`snapshot`] | stores that are written down, and read again |
//! | [`written_pages`] | which pages of memory were written |

pub mod activation;
mod arch;
pub mod backtrace;
mod builtins;
pub mod code;
mod complaint;
mod const_expr;
mod debugger;
mod describe;
mod design;
pub mod embedder;
mod exception;
mod fault;
mod frames;
mod frames_tree;
pub mod from_host;
mod fuel;
mod grow;
pub mod heap;
pub mod held;
mod host_error;
pub mod instance;
pub mod interrupt;
mod jitdump;
mod known_code;
mod limiter;
mod lines;
pub mod link;
mod machine;
pub mod machine_memory;
mod map;
pub mod memory;
mod memory_image;
mod parking;
pub mod pending;
pub mod perf_map;
pub mod precompiled;
mod printed;
mod profile;
mod rest;
mod signal;
pub mod snapshot;
mod source;
pub mod stack;
pub mod store;
pub mod table;
mod timer;
pub mod trace;
mod transfer;
pub mod trap;
mod try_box;
pub mod types;
mod written_pages;

pub use activation::{
    Ending, NOBODY, Poller, Polling, Stop, UncaughtException, Words, call, call_by, call_with_words,
};
pub use arch::stubs::host_words;
pub use backtrace::{Backtrace, Boundary, Frame};
pub use code::{CodeMemory, LoadedModule};
pub use fuel::{FuelHook, OutOfFuel};
pub use heap::{HeapOptions, OwnedRoot, Root};
pub use held::{CameBack, Released};
pub use host_error::HostError;
pub use instance::{Instance, InstantiateError};
pub use interrupt::Interrupts;
pub use jitdump::JitDump;
pub use limiter::{
    Answer, Answers, Growth, Refused, ResourceLimiter, ResourceLimiterAsync, Undecided,
};
pub use link::{ImportValue, LinkError};
pub use memory_image::{DataInFile, MemoryImages};
pub use pending::{Pending, Scope, Waiting};
pub use profile::{Profile, Sample};
pub use rest::{AnyRest, Rest};
pub use signal::install as install_signal_handlers;
pub use source::{Place, Source};
pub use stack::{StackInfo, StackList, Waits};
pub use store::{HostFunction, StackStatistics, Store, StoreId, StoreOptions, Trampoline};
pub use trap::Trap;
pub use try_box::try_box;
pub use types::{RegisteredType, SharedFuncType, TypeRegistry};
