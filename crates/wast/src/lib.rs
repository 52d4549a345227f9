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
//! | file | contents |
//! | --- | --- |
//! | `report` | passed and failed directives |
//! | `message` | compares errors with those that a script expects |
//! | `number` | bits and literals of numbers and lanes |
//! | `pattern` | the results that an assertion expects |
//! | `argument` | the arguments of an invocation |
//! | `registry` | modules and instances by name |
//! | `spectest` | the host module that scripts import |
//! | `snapshots` | snapshots of the store while a script runs |
//! | `directive` | the grammar of scripts |
//! | `script` | the state of a script, and its directives |
//! | `files` | the directives that read and write files |
//! | `assertion` | the directives that assert something |
//!
//! The crate uses only the engine's public interface, and the front end for text and dialects.

#![forbid(unsafe_code)]

mod argument;
mod assertion;
mod directive;
mod files;
mod message;
mod number;
mod pattern;
mod registry;
mod report;
mod script;
mod snapshots;
mod spectest;

use snapshots::SnapshotMode;

pub use report::{Failure, Report};

use ropewalk::Engine;
use std::path::PathBuf;

/// Runs scripts on an engine, each in a fresh store.
#[derive(Clone)]
pub struct WastRunner {
    engine: Engine,
    is_async: bool,
    snapshots: Option<SnapshotMode>,
    directory: Option<PathBuf>,
}

impl WastRunner {
    /// A runner of scripts on `engine`, whose features decide which modules are valid.
    pub fn new(engine: &Engine) -> Self {
        WastRunner { engine: engine.clone(), is_async: false, snapshots: None, directory: None }
    }

    /// Makes calls asynchronous: they are polled until they return.
    pub fn asynchronous(self) -> Self {
        WastRunner { is_async: true, ..self }
    }

    /// Takes and restores snapshots of stores wherever possible. The engine must compile code for
    /// snapshots and for interruption.
    pub fn with_snapshots(self) -> Self {
        WastRunner { snapshots: Some(SnapshotMode::Full), ..self }
    }

    /// Like [`with_snapshots`](Self::with_snapshots), but each snapshot has only the changes since
    /// the last one if they are known, and most directives continue in the same store.
    pub fn with_delta_snapshots(self) -> Self {
        WastRunner { snapshots: Some(SnapshotMode::Delta), ..self }
    }

    /// Lets the directives `input` and `output` use the files of a directory. `output` does not
    /// replace files.
    pub fn with_directory(self, directory: impl Into<PathBuf>) -> Self {
        WastRunner { directory: Some(directory.into()), ..self }
    }

    /// Runs the script `text`; the report calls it `name`.
    ///
    /// The report records each directive that fails, and the script continues. A text that cannot be
    /// parsed as a script is a failure, too.
    pub fn run_script(&self, name: &str, text: &str) -> Report {
        script::run(self, name, text)
    }
}
