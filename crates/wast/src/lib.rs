//! Runs WebAssembly test scripts, the `.wast` files of the specification.
//!
//! ```
//! # fn main() -> ropewalk::Result<()> {
//! let engine = ropewalk::Engine::default();
//! let report = ropewalk_wast::WastRunner::new(&engine).run_script(
//!     "double.wast",
//!     r#"(module
//!          (func (export "double") (param i32) (result i32)
//!            (i32.shl (local.get 0) (i32.const 1))))
//!        (assert_return (invoke "double" (i32.const 21)) (i32.const 42))
//!        (assert_return (invoke "double" (i32.const 21)) (i32.const 43))"#,
//! );
//! assert_eq!(report.passed, 2);
//! assert_eq!(
//!     report.failures[0].to_string(),
//!     "double.wast:5: expected (i32.const 43), found (i32.const 42)",
//! );
//! # Ok(())
//! # }
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `script` | the state of a script, and what its directives do to it |
//! | `named` | what a script can refer to by name, or as the latest |
//! | `assertion` | the directives that assert something |
//! | `argument` | the arguments of an invocation |
//! | `pattern` | the results that an assertion expects |
//! | `number` | the bits of numbers and lanes, and how a script writes them |
//! | `message` | whether an error is the one that a script expects |
//! | `spectest` | the host module that scripts import |
//! | `report` | what passed and what did not |
//! | `written` | stores that are written down and read again while a script runs |
//!
//! The crate uses only the engine's public interface, and the front end that
//! reads text and dialects; it knows nothing of how anything is compiled or
//! run.

#![forbid(unsafe_code)]

mod argument;
mod assertion;
mod message;
mod named;
mod number;
mod pattern;
mod report;
mod script;
mod spectest;
mod written;

use written::WritesDown;

pub use report::{Failure, Report};

use ropewalk::Engine;

/// Runs scripts on an engine, each in a fresh store.
#[derive(Clone)]
pub struct WastRunner {
    engine: Engine,
    can_wait: bool,
    writes_down: Option<WritesDown>,
}

impl WastRunner {
    /// A runner of scripts on `engine`, whose features decide what is valid.
    pub fn new(engine: &Engine) -> Self {
        WastRunner { engine: engine.clone(), can_wait: false, writes_down: None }
    }

    /// The same, whose calls can wait: they are polled until they have ended.
    pub fn asynchronous(self) -> Self {
        WastRunner { can_wait: true, ..self }
    }

    /// The same, whose stores are written down and read again wherever they can be, for an
    /// engine that compiles for it and for interruption.
    pub fn writing_down(self) -> Self {
        WastRunner { writes_down: Some(WritesDown::Stores), ..self }
    }

    /// The same, but snapshots have only what has changed since the one before, as far as that
    /// is known, and most directives go on with the store that there was.
    pub fn writing_changes_down(self) -> Self {
        WastRunner { writes_down: Some(WritesDown::Changes), ..self }
    }

    /// Runs the script `text`; the report calls it `name`.
    ///
    /// A directive that fails is recorded, and the script continues. A text that
    /// is not a script is a failure as well.
    pub fn run_script(&self, name: &str, text: &str) -> Report {
        script::run(self, name, text)
    }
}
