//! Ropewalk: a WebAssembly engine built around stack switching.
//!
//! An [`Engine`] compiles [`Module`]s; a [`Store`] holds [`Instance`]s of them
//! and the host's data; a [`Linker`] says what imports mean.
//!
//! ```
//! use ropewalk::*;
//!
//! # fn main() -> Result<()> {
//! let engine = Engine::default();
//! let module = Module::new(&engine, r#"
//!     (module
//!       (import "host" "double" (func $double (param i32) (result i32)))
//!       (func (export "run") (param i32) (result i32)
//!         (i32.add (call $double (local.get 0)) (i32.const 1))))
//! "#)?;
//! let mut linker = Linker::new(&engine);
//! linker.func_wrap("host", "double", |x: i32| x * 2)?;
//! let mut store = Store::new(&engine, ());
//! let instance = linker.instantiate(&mut store, &module)?;
//! let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
//! assert_eq!(run.call(&mut store, 20)?, 41);
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! Everything that can fail returns an [`Error`], which is `anyhow`'s. What it
//! is can be asked with `downcast_ref`:
//!
//! | | |
//! | --- | --- |
//! | the module | [`ModuleError`]: it is malformed, invalid, or too large |
//! | | [`LinkError`]: an import is missing, or does not fit |
//! | | [`OtherSettings`]: it was compiled with other settings than the engine has |
//! | what ran | [`Trap`] |
//! | | [`Exception`]: nothing caught it |
//! | | [`HostError`]: a host function failed; what it returned can be asked for too |
//! | misuse | [`WrongStore`], [`WrongEngine`], [`UnknownType`], [`WrongType`], [`WrongCount`], [`NoSuchExport`], [`WrongExport`], [`OutOfBounds`], [`Immutable`], [`ScopeEnded`], [`DefinedTwice`] |
//!
//! Each has an example. A trap or an error ends the call, and the store can be used as
//! before.
//!
//! # Where to begin
//!
//! | | |
//! | --- | --- |
//! | strings through memory | [`Memory`] |
//! | host functions | [`Linker`], [`Caller`], [`WasmTy`] |
//! | objects of WebAssembly | [`StructType`], [`ArrayType`], [`RootScope`], [`Owned`] |
//! | generators as iterators | [`TypedContinuation`] |
//! | host functions that suspend | [`Suspension`] |
//! | async | [`TypedFunc::call_async`], [`Store::run_concurrent`] |
//! | threads | [`Engine`] |
//! | what the stacks have done | [`Config::trace`], [`Store::take_trace`] |
//! | where time is spent | [`Store::start_profile`] |
//! | stores that outlive their process | [`Snapshot`] |
//! | what the stacks are doing | [`Store::stacks`], [`Store::core_dump`] |
//! | one module, many stores | [`InstancePre`] |
//! | a plugin host | `examples/plugins.rs` |
//!
//! # Signals
//!
//! Traps are found by the hardware, so the engine handles `SIGSEGV`, `SIGBUS`,
//! `SIGILL` and `SIGFPE`, and passes on what is not its own. A fault of generated
//! code that is not exactly a trap aborts the process: it is a bug of the engine.
//! WebAssembly runs on small stacks: handlers that an embedder installs for other
//! signals must be installed with `SA_ONSTACK`, and must not run WebAssembly.

#[macro_use]
mod tuples;

mod engine;
mod host;
mod inspect;
mod items;
mod misuse;
mod module;
mod reexports;
mod reference;
mod snapshot;
mod stacks;
mod store;
mod value;

pub use anyhow::{Error, Result};
pub use engine::Engine;
#[cfg(feature = "mutations")]
#[doc(hidden)]
pub use engine::config::Mutation;
pub use engine::config::{Config, OptLevel, Stress};
#[doc(hidden)]
pub use engine::stress;
pub use host::async_func::AsyncFunc;
pub use host::caller::Caller;
pub use host::concurrent::Accessor;
pub use host::deadlock::Deadlock;
pub use host::interrupt::InterruptHandle;
pub use host::pending_call::Later;
pub use host::{IntoFunc, WasmRet};
pub use items::exception::Exception;
pub use items::export::Extern;
pub use items::global::Global;
pub use items::instance::Instance;
pub use items::instance_pre::InstancePre;
pub use items::linker::Linker;
pub use items::memory::Memory;
pub use items::table::Table;
pub use items::typed_func::TypedFunc;
pub use misuse::{
    DefinedTwice, Immutable, NoSuchExport, OutOfBounds, ScopeEnded, UnknownType, WrongCount,
    WrongEngine, WrongExport, WrongStore, WrongType,
};
pub use module::cache::Cache;
pub use module::error::ModuleError;
pub use module::precompiled::OtherSettings;
pub use module::{ExportType, ImportType, Module, ModuleExport};
pub use reexports::{
    Answer, Backtrace, Boundary, ExternType, FieldType, Frame, FuncType, GlobalType, HeapType,
    HostError, Life, LinkError, MemoryType, OutOfFuel, Place, Profile, Progress, RefType, Refused,
    ResourceLimiter, ResourceLimiterAsync, Sample, StackInfo, StackKind, StackList,
    StackStatistics, StorageType, TableType, TagType, Trap, TrapCode, Undecided, ValType, Waits,
    WhenBehind,
};
pub use reference::object_type::{ArrayType, StructType};
pub use reference::{
    AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, Owned, Reference, RootScope, StructRef,
};
pub use ropewalk_trace as traces;
pub use snapshot::options::SnapshotOptions;
pub use snapshot::restored_call::RestoredCall;
pub use snapshot::{Restored, Restoring, Snapshot, SnapshotError, SnapshotHandle};
pub use stacks::bag::{BagStack, Switched};
pub use stacks::clause::Clause;
pub use stacks::continuation::{Continuation, Resumed};
pub use stacks::fiber::{Fiber, Mounted};
pub use stacks::first_class::{Arrived, FirstClassStack};
pub use stacks::suspension::Suspension;
pub use stacks::task::{Task, TaskResumed, TypedTask};
pub use stacks::typed_continuation::{TypedContinuation, TypedResumed};
pub use store::limits::{StoreLimits, StoreLimitsBuilder};
pub use store::{AsContext, AsContextMut, Store, StoreContext, StoreContextMut};
pub use value::func::{Func, FuncId};
pub use value::tag::{Tag, TypedTag};
pub use value::val::Val;
pub use value::wasm_ty::WasmTy;
pub use value::wasm_values::{WasmParams, WasmResults};
pub use wasmparser::WasmFeatures;
