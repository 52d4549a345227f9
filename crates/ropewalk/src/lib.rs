//! Ropewalk runs WebAssembly in Rust programs. It is an engine built around stack switching: it
//! compiles modules to machine code, and runs continuations, tasks, fibers and other stacks of
//! WebAssembly next to ordinary calls.
//!
//! # A first program
//!
//! An [`Engine`] compiles a [`Module`]. A [`Linker`] defines what the module imports. A [`Store`]
//! owns its [`Instance`]s, and data of the host.
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
//! # Where to go next
//!
//! | to | see |
//! | --- | --- |
//! | define host functions | [`Linker`], [`Caller`], [`WasmTy`] |
//! | pass strings through memory | [`Memory`] |
//! | use structs and arrays of WebAssembly | [`StructType`], [`ArrayType`], [`RootScope`], [`Owned`] |
//! | resume continuations, run generators as iterators | [`Continuation`], [`TypedContinuation`] |
//! | run stacks of the other designs | [`Task`], [`Fiber`], [`BagStack`], [`FirstClassStack`] |
//! | suspend WebAssembly in a host function | [`Suspension`] |
//! | call async host functions | [`Linker::func_wrap_async`], [`TypedFunc::call_async`] |
//! | run concurrent calls in one store | [`Store::run_concurrent`] |
//! | use many threads | [`Engine`] |
//! | limit memory, time and instructions | [`Store::limiter`], [`Store::set_timeout`], [`Store::set_fuel`] |
//! | save a store, and restore it in another process | [`Snapshot`] |
//! | instantiate one module in many stores | [`InstancePre`] |
//! | list stacks, or dump them | [`Store::stacks`], [`Store::core_dump`] |
//! | trace and profile programs | [`Store::take_trace`], [`Store::start_profile`] |
//! | read a whole program | `examples/plugins.rs`, a host of plugins |
//!
//! # Errors
//!
//! Functions that can fail return an [`Error`], which is `anyhow`'s. `downcast_ref` tells what it
//! is. Each type has an example.
//!
//! | what failed | errors |
//! | --- | --- |
//! | compiling | [`ModuleError`]: the module is malformed, invalid, or too large |
//! | loading | [`OtherSettings`]: the module was compiled with other settings |
//! | instantiating | [`LinkError`]: an import is missing, or has a wrong type |
//! | running | [`Trap`]; [`Exception`], if nothing catches it; [`HostError`], of a host function |
//! | using the API | [`WrongStore`], [`WrongEngine`], [`UnknownType`], [`WrongType`], [`WrongCount`], [`NoSuchExport`], [`WrongExport`], [`OutOfBounds`], [`Immutable`], [`ScopeEnded`], [`DefinedTwice`] |
//!
//! A trap or an error ends the call. The store can be used as before.
//!
//! # Signals
//!
//! The hardware detects traps, so the engine handles `SIGSEGV`, `SIGBUS`, `SIGILL` and `SIGFPE`. It
//! passes on signals of other code. A fault of generated code that is not an expected trap is a bug
//! of the engine, and aborts the process. WebAssembly runs on small stacks: install handlers for
//! other signals with `SA_ONSTACK`, and do not run WebAssembly in them.

#[macro_use]
mod macros;

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
pub use engine::config::InjectedBug;
pub use engine::config::{Config, Designs, OptLevel, Stress};
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
    HostError, Life, LinkError, MemoryType, OutOfFuel, Profile, Progress, RefType, Refused,
    ResourceLimiter, ResourceLimiterAsync, Sample, SourcePlace, StackInfo, StackKind, StackList,
    StackStatistics, StackTrap, StorageType, TableType, TagType, Trap, TrapCode, Undecided,
    ValType, Waits, WhenBehind,
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
