//! Oracles: other modes of the engine, and another engine.

pub mod modes;
pub mod observation;
#[cfg(feature = "wasmtime")]
pub mod wasmtime;
