//! Values, their Rust types, and handles of functions and tags.

pub(crate) mod func;
pub(crate) mod tag;
pub(crate) mod type_check;
pub(crate) mod val;
pub(crate) mod wasm_ty;
pub(crate) mod wasm_values;
