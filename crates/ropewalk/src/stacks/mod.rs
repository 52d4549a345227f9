//! Stacks in the hands of the host: continuations, tasks, fibers, stacks of a bag and first-class
//! stacks.

pub(crate) mod alive;
pub(crate) mod bag;
pub(crate) mod clause;
pub(crate) mod cont_type;
pub(crate) mod continuation;
pub(crate) mod fiber;
pub(crate) mod first_class;
pub(crate) mod identity;
pub(crate) mod new_stack;
pub(crate) mod owned;
pub(crate) mod suspension;
pub(crate) mod task;
pub(crate) mod transfer;
pub(crate) mod typed_continuation;
mod wasm_ty;
