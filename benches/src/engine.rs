//! The interface to an engine that is measured.
//!
//! Workloads use only this trait. Its methods are inlined into each workload, so the trait costs
//! nothing.

use anyhow::Result;
use std::path::Path;

/// A WebAssembly engine that optimizes for speed, otherwise with its default settings.
///
/// Instances can import `host.inc : [i64] -> [i64]`, which adds one.
pub trait Engine: Sized + Sync + 'static {
    /// Compiled code.
    type Module: Send;
    /// An instance in a store of its own.
    type Instance;
    /// An exported function of type `[i64] -> [i64]`.
    type Function;
    /// An exported function of type `[] -> []`.
    type Empty;

    /// A new engine.
    fn new() -> Result<Self>;

    /// Compiles a binary module.
    fn compile(&self, wasm: &[u8]) -> Result<Self::Module>;

    /// Compiles a module in the text format.
    fn compile_text(&self, text: &str) -> Result<Self::Module> {
        self.compile(&wat::parse_str(text)?)
    }

    /// A compiled module as the bytes of a file.
    fn serialize(&self, module: &Self::Module) -> Result<Vec<u8>>;

    /// The module in such a file. Nothing may change the file.
    fn load(&self, file: &Path) -> Result<Self::Module>;

    /// Creates a store with an instance.
    fn instantiate(&self, module: &Self::Module) -> Result<Self::Instance>;

    /// Looks up an export of type `[i64] -> [i64]`.
    fn function(&self, instance: &mut Self::Instance, export: &str) -> Result<Self::Function>;

    /// Calls it.
    fn call(
        &self,
        instance: &mut Self::Instance,
        function: &Self::Function,
        argument: i64,
    ) -> Result<i64>;

    /// Looks up an export of type `[] -> []`.
    fn empty(&self, instance: &mut Self::Instance, export: &str) -> Result<Self::Empty>;

    /// Calls it.
    fn enter(&self, instance: &mut Self::Instance, function: &Self::Empty) -> Result<()>;

    /// Creates a linker with [45 host functions](define_functions), and drops it.
    fn link(&self) -> Result<()>;
}

/// Defines 45 functions of nine types, as WASI has, in a linker of any engine.
macro_rules! define_functions {
    ($linker:expr) => {
        for name in ["a", "b", "c", "d", "e"] {
            $linker.func_wrap("of 0", name, || {})?;
            $linker.func_wrap("of 1", name, |a: i32| a)?;
            $linker.func_wrap("of 2", name, |a: i32, b: i32| a ^ b)?;
            $linker.func_wrap("of 3", name, |a: i32, b: i32, c: i32| a ^ b ^ c)?;
            $linker.func_wrap("of 4", name, |a: i32, b: i32, c: i32, d: i32| a ^ b ^ c ^ d)?;
            $linker.func_wrap("of a long one", name, |a: i32, b: i64| a ^ b as i32)?;
            $linker.func_wrap("of 4, one long", name, |a: i32, b: i64, c: i32, d: i32| {
                a ^ b as i32 ^ c ^ d
            })?;
            $linker.func_wrap("of 5", name, |a: i32, b: i32, c: i32, d: i32, e: i32| {
                a ^ b ^ c ^ d ^ e
            })?;
            $linker.func_wrap(
                "of 5, two long",
                name,
                |a: i32, b: i32, c: i64, d: i64, e: i32| a ^ b ^ (c ^ d) as i32 ^ e,
            )?;
        }
    };
}
pub(crate) use define_functions;
