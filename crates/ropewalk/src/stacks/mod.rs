//! Handles by which the host owns and runs stacks: continuations, tasks, fibers, stacks of a bag,
//! first-class stacks.
//!
//! | design | handle | the host runs it by |
//! | --- | --- | --- |
//! | typed continuations | [`Continuation`](continuation::Continuation), owned | resuming |
//! | bag of stacks | [`BagStack`](bag::BagStack), owned | switching |
//! | first-class stacks | [`FirstClassStack`](first_class::FirstClassStack), owned | switching |
//! | tasks | [`Task`](task::Task), shared with WebAssembly | resuming |
//! | fibers | [`Fiber`](fiber::Fiber), shared with WebAssembly | mounting |

pub(crate) mod bag;
pub(crate) mod clause;
pub(crate) mod cont_type;
pub(crate) mod continuation;
pub(crate) mod fiber;
pub(crate) mod first_class;
mod host_switch;
mod lifetime_token;
pub(crate) mod new_stack;
pub(crate) mod shared_handle;
pub(crate) mod stack_handle;
pub(crate) mod suspension;
pub(crate) mod task;
pub(crate) mod transfer;
pub(crate) mod typed_continuation;
mod wasm_ty;
