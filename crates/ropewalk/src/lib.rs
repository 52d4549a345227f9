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
//! is can be asked with `downcast_ref`: a [`ModuleError`], a [`LinkError`], a
//! [`Trap`], an [`Exception`], or what a host function returned. Misuse, such as a value of
//! another store, is an error too.
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

mod call;
mod caller;
mod concurrent;
mod config;
mod continuation;
mod engine;
mod error;
mod exception;
mod export;
mod func;
mod global;
mod host;
mod host_async;
mod instance;
mod interrupt;
mod later;
mod limits;
mod linker;
mod memory;
mod module;
mod new_stack;
mod reference;
mod source;
mod store;
#[doc(hidden)]
pub mod stress;
mod suspension;
mod table;
mod tag;
mod typed;
mod val;
mod waiting;

pub use anyhow::{Error, Result};
pub use caller::Caller;
pub use concurrent::Accessor;
#[doc(hidden)]
pub use config::Mutation;
pub use config::{Config, OptLevel};
pub use continuation::{Continuation, Resumed, TypedContinuation, TypedResumed};
pub use engine::Engine;
pub use error::{ModuleError, WrongStore};
pub use exception::Exception;
pub use export::Extern;
pub use func::Func;
pub use global::Global;
pub use host::{IntoFunc, WasmRet};
pub use instance::Instance;
pub use interrupt::InterruptHandle;
pub use later::Later;
pub use limits::{StoreLimits, StoreLimitsBuilder};
pub use linker::Linker;
pub use memory::Memory;
pub use module::{ExportType, ImportType, Module};
pub use reference::{
    AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, Owned, Reference, RootScope, StructRef,
};
pub use ropewalk_abi::stack::StackKind;
pub use ropewalk_abi::{
    ExternType, FuncType, GlobalType, HeapType, MemoryType, RefType, TableType, TagType, TrapCode,
    ValType,
};
pub use ropewalk_runtime::{
    Backtrace, Boundary, Frame, LinkError, Refused, ResourceLimiter, StackStatistics, Trap,
};
pub use store::{AsContext, AsContextMut, Store, StoreContext, StoreContextMut};
pub use suspension::Suspension;
pub use table::Table;
pub use tag::{Tag, TypedTag};
pub use typed::{TypedFunc, WasmParams, WasmResults, WasmTy};
pub use val::Val;
pub use wasmparser::WasmFeatures;
