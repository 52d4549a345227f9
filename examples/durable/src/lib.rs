//! Workflows as plain WebAssembly that outlive the process that runs them.
//!
//! A workflow calls the host to sleep, to send a request, to ask a question, or to log a message,
//! as if these calls returned immediately. At each call the host takes a snapshot and drops the
//! store. When the call has its result, the snapshot is restored and the workflow continues. So a
//! waiting workflow takes no memory, and a killed process loses nothing.
//!
//! ```text
//!   New ----------------+                          one transaction each
//!                       v
//!   Ready --> restored, runs up to its next call --> Sleeping | Requesting | Asking | Ready
//!     ^                                                  |            |          |
//!     +------------------------- result -----------------+------------+----------+
//! ```
//!
//! Computation between two calls is invisible from outside, so it can be repeated after a crash.
//! Each visible [effect](database::Effect) is recorded with the number of its step, in the
//! transaction that commits the step, so it happens once. A request may be sent again with the
//! same key, by which its receiver [recognizes it](requests).
//!
//! | file | contents |
//! | --- | --- |
//! | `guests/order.wat` | a workflow |
//! | [`guest`] | compiles it, and defines the functions that it calls |
//! | [`snapshot`] | takes snapshots of workflows and continues them |
//! | [`workflow`] | the states of a workflow and their transitions |
//! | [`database`] | the database of workflows, snapshots and effects |
//! | [`worker`] | runs workflows |
//! | [`requests`] | HTTP requests |

pub mod database;
pub mod guest;
pub mod requests;
pub mod snapshot;
pub mod worker;
pub mod workflow;
