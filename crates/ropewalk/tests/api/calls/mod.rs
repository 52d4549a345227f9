//! Calls between WebAssembly and the host: synchronous, asynchronous and concurrent.

mod async_calls;
mod async_functions;
mod async_resume;
mod concurrent;
mod deadlock;
mod host_functions;
mod pending_calls;
mod reentry;
mod register_values;
mod suspending;
