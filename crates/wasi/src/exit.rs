//! Errors that end a program.

/// The error of a call in which the program called `proc_exit`.
///
/// ```
/// use ropewalk::{Engine, Linker, Module, Store};
/// use ropewalk_wasi::{I32Exit, WasiCtx};
///
/// # fn main() -> ropewalk::Result<()> {
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
///       (memory (export "memory") 1)
///       (func (export "_start") (call $exit (i32.const 3))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
/// let mut store = Store::new(&engine, WasiCtx::builder().build());
/// let instance = linker.instantiate(&mut store, &module)?;
/// let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
/// let error = start.call(&mut store, ()).unwrap_err();
/// assert_eq!(error.downcast_ref::<I32Exit>(), Some(&I32Exit(3)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program exited with code {0}")]
pub struct I32Exit(pub i32);

/// The error of a call in which the program wrote to a standard stream whose reader is gone,
/// if [`end_on_broken_pipe`](crate::WasiCtxBuilder::end_on_broken_pipe) is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader of the program's output is gone")]
pub struct BrokenPipe;
