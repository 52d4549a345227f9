//! The verbs that every engine under measurement has.
//!
//! Workloads are written once against this trait. What it calls is inlined into
//! each workload, so that the trait itself costs nothing.

use anyhow::Result;
use std::path::Path;

/// A WebAssembly engine, set to optimise for speed, otherwise as it comes.
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

    /// An engine with nothing compiled yet.
    fn new() -> Result<Self>;

    /// Compiles a binary module.
    fn compile(&self, wasm: &[u8]) -> Result<Self::Module>;

    /// Compiles a module in the text format.
    fn compile_text(&self, text: &str) -> Result<Self::Module> {
        self.compile(&wat::parse_str(text)?)
    }

    /// A compiled module as the bytes of a file.
    fn serialize(&self, module: &Self::Module) -> Result<Vec<u8>>;

    /// The module in such a file, which nobody changes.
    fn load(&self, file: &Path) -> Result<Self::Module>;

    /// Makes a store and an instance in it.
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
}
