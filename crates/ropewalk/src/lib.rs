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

mod admission;
mod alive;
mod bag;
mod cache;
mod call;
mod call_async;
mod caller;
mod clause;
mod concurrent;
mod config;
mod cont_type;
mod continuation;
mod core_dump;
mod deadlock;
mod dwarf;
mod engine;
mod error;
mod exception;
mod export;
mod fiber;
mod first_class;
mod fit;
mod func;
mod global;
mod held;
mod host;
mod host_async;
mod instance;
mod instance_pre;
mod interrupt;
mod later;
mod limits;
mod linker;
mod memory;
mod misuse;
mod module;
mod named;
mod nest;
mod new_stack;
mod object_type;
mod precompiled;
mod profile;
mod reexports;
mod reference;
mod rest;
mod restored_call;
mod snapshot;
mod snapshot_options;
mod source;
mod state;
mod store;
mod store_lock;
#[doc(hidden)]
pub mod stress;
mod suspension;
mod table;
mod tag;
mod task;
mod tools;
mod trace;
mod trampolines;
mod transfer;
mod typed;
mod typed_continuation;
mod unknown_imports;
mod val;
mod waiting;
mod wasm_ty;
mod wasm_values;

pub use anyhow::{Error, Result};
pub use bag::{BagStack, Switched};
pub use cache::Cache;
pub use caller::Caller;
pub use clause::Clause;
pub use concurrent::Accessor;
#[doc(hidden)]
pub use config::Mutation;
pub use config::{Config, OptLevel};
pub use continuation::{Continuation, Resumed};
pub use deadlock::Deadlock;
pub use engine::Engine;
pub use error::ModuleError;
pub use exception::Exception;
pub use export::Extern;
pub use fiber::{Fiber, Mounted};
pub use first_class::{Arrived, FirstClassStack};
pub use func::{Func, FuncId};
pub use global::Global;
pub use host::{IntoFunc, WasmRet};
pub use host_async::AsyncFunc;
pub use instance::Instance;
pub use instance_pre::InstancePre;
pub use interrupt::InterruptHandle;
pub use later::Later;
pub use limits::{StoreLimits, StoreLimitsBuilder};
pub use linker::Linker;
pub use memory::Memory;
pub use misuse::{
    DefinedTwice, Immutable, NoSuchExport, OutOfBounds, ScopeEnded, UnknownType, WrongCount,
    WrongEngine, WrongExport, WrongStore, WrongType,
};
pub use module::{ExportType, ImportType, Module, ModuleExport};
pub use object_type::{ArrayType, StructType};
pub use precompiled::OtherSettings;
pub use reexports::{
    Answer, Backtrace, Boundary, ExternType, FieldType, Frame, FuncType, GlobalType, HeapType,
    HostError, Life, LinkError, MemoryType, OutOfFuel, Place, Profile, Progress, RefType, Refused,
    ResourceLimiter, ResourceLimiterAsync, Sample, StackInfo, StackKind, StackList,
    StackStatistics, StorageType, TableType, TagType, Trap, TrapCode, Undecided, ValType, Waits,
    WhenBehind,
};
pub use reference::{
    AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, Owned, Reference, RootScope, StructRef,
};
pub use restored_call::RestoredCall;
pub use ropewalk_trace as traces;
pub use snapshot::{Restored, Restoring, Snapshot, SnapshotError, SnapshotHandle};
pub use snapshot_options::SnapshotOptions;
pub use store::{AsContext, AsContextMut, Store, StoreContext, StoreContextMut};
pub use suspension::Suspension;
pub use table::Table;
pub use tag::{Tag, TypedTag};
pub use task::{Task, TaskResumed, TypedTask};
pub use typed::TypedFunc;
pub use typed_continuation::{TypedContinuation, TypedResumed};
pub use val::Val;
pub use wasm_ty::WasmTy;
pub use wasm_values::{WasmParams, WasmResults};
pub use wasmparser::WasmFeatures;
