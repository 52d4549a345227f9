//! An HTTP server whose handlers are WebAssembly that calls asynchronous host functions.
//!
//! A handler calls the host to sleep or to send another request, as if these calls blocked. The
//! call is suspended on its own stack, and tokio runs other requests:
//!
//! ```text
//!   GET /one/wait/250      all requests in one store, at the same time
//!   GET /own/wait/250      a store for each request
//!   GET /native/wait/250   the same handler in Rust
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `guests/` | the handlers, in WebAssembly |
//! | [`guest`] | compiles them, and defines the functions that they call |
//! | [`one_store`], [`own_store`] | two ways to call them |
//! | [`native`] | the same handlers in Rust |
//! | [`server`] | HTTP and routing |
//! | [`upstream`] | the requests that handlers send |
//! | [`load`] | concurrent clients |
//! | [`measure`] | requests per second, and memory per waiting request |

pub mod guest;
pub mod load;
pub mod measure;
pub mod native;
pub mod one_store;
pub mod own_store;
pub mod server;
pub mod upstream;
#[cfg(feature = "wasmtime")]
pub mod wasmtime;
