//! The runtime: stores and their contents, entering and leaving WebAssembly, traps, snapshots.
//!
//! The crate knows nothing of Cranelift: code comes to it as bytes with tables.
//!
//! Folders are layers. Each uses only those above it in this table; the test `layers` checks that.
//!
//! | layer | contents |
//! | --- | --- |
//! | [`embedder`] | guarded calls of the embedder's code, its limiter |
//! | [`os`] | memory mappings, dirty pages, OS limits, timers |
//! | [`arch`] | all assembly: stubs, registers, frames as the machine lays them out |
//! | [`code`] | loaded modules, types, compiled files, debug info for native tools |
//! | [`heap`] | objects, and references that the host holds |
//! | [`stack`] | the table of stacks: their blocks, memory, marks; parking, growing, copying |
//! | [`vm`] | memories, tables, globals, instances |
//! | [`report`] | traps, errors, backtraces, lists of stacks, as data |
//! | [`store`] | the store: the sum of its parts |
//! | [`inspect`] | walks through frames, backtraces, the check of all stacks |
//! | [`observe`] | traces, profiles, debug info for native debuggers |
//! | [`run`] | instantiation, activations, pending host calls, interruption, exceptions, faults, collections |
//! | [`design`] | what the designs need beyond generated code |
//! | [`host`] | continuations, tasks, fibers and stacks in the host's hands |
//! | [`snapshot`] | stores that are saved and restored |
//! | [`builtins`] | what generated code and stubs call |

mod arch;
mod builtins;
pub mod code;
mod design;
pub mod embedder;
pub mod heap;
pub mod host;
pub mod inspect;
pub mod observe;
pub mod os;
pub mod report;
pub mod run;
pub mod snapshot;
pub mod stack;
pub mod store;
pub mod vm;

pub use arch::stubs::host_words;
pub use builtins::new_store;
pub use code::jitdump::JitDump;
pub use code::memory_image::{DataInFile, MemoryImages};
pub use code::source::{Source, SourcePlace};
pub use code::types::{RegisteredType, SharedFuncType, TypeRegistry};
pub use code::{CodeMemory, LoadedModule};
pub use embedder::{
    Answer, Answers, Growth, Refused, ResourceLimiter, ResourceLimiterAsync, Undecided,
};
pub use heap::{HeapOptions, OwnedRoot, Root};
pub use host::continuation::CameBack;
pub use observe::profile::{Profile, Sample};
pub use os::try_box::try_box;
pub use report::backtrace::{Backtrace, Boundary, Frame};
pub use report::host_error::HostError;
pub use report::stack_list::{StackInfo, StackList};
pub use report::trap::{StackTrap, Trap};
pub use report::waits::Waits;
pub use run::activation::{Stop, UncaughtException, Words, call, call_by, call_with_words};
pub use run::ground::TRAP_TAG;
pub use run::instantiate::InstantiateError;
pub use run::link::LinkError;
pub use run::signal::install as install_signal_handlers;
pub use store::fuel::{FuelHook, OutOfFuel};
pub use store::interrupts::Interrupts;
pub use store::pending::{AnyHostFuture, HostFuture, PendingCall, Scope};
pub use store::running::{Ending, NO_POLLER, Poller, Polling};
pub use store::stress::Stress;
pub use store::{StackStatistics, Store, StoreOptions};
pub use vm::dropped_continuations::Released;
pub use vm::host_function::{HostFunction, Trampoline};
pub use vm::import::ImportValue;
pub use vm::instance::Instance;
pub use vm::store_id::StoreId;
