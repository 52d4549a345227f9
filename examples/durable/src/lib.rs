//! Workflows as plain WebAssembly that outlive the process that runs them.
//!
//! A workflow calls the host to sleep, to send a request, to ask somebody, or to note
//! something, as if that were nothing. At each such call it is written down whole and given
//! up; when the call has its result, it is read back and goes on. So a workflow that waits
//! takes no memory, and a process that is killed loses nothing.
//!
//! ```text
//!   New ----------------+                          one transaction each
//!                       v
//!   Ready --> restored, runs up to its next call --> Sleeping | Requesting | Asking | Ready
//!     ^                                                  |            |          |
//!     +------------------------- result -----------------+------------+----------+
//! ```
//!
//! Nothing that a workflow does until its next call can be seen from outside, so it does no
//! harm if that is done again after a crash. What can be seen is an [effect](database::Effect):
//! it is recorded with the number of its step in the transaction in which the workflow takes
//! that step, which therefore happens once. A request may be sent again, with the same key, and
//! whoever gets it [does it once](outside).
//!
//! | file | what it holds |
//! | --- | --- |
//! | `guests/order.wat` | a workflow |
//! | [`guest`] | compiles it, and defines the functions that it calls |
//! | [`image`] | writes a running workflow down, and continues it |
//! | [`workflow`] | the states of a workflow, and how one follows from another |
//! | [`database`] | where they are kept |
//! | [`worker`] | runs them |
//! | [`outside`] | requests |

pub mod database;
pub mod guest;
pub mod image;
pub mod outside;
pub mod worker;
pub mod workflow;
