//! What cases are judged by: the engine in other modes, and another engine.

pub mod modes;
pub mod observation;
#[cfg(feature = "wasmtime")]
pub mod wasmtime;
