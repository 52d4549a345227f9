//! Sequences of calls of the embedder's interface.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `operation` | what a host does, as a tree: host functions do more of it |
//! | `model` | what globals, tables, memories and objects must hold |
//! | `module` | the module whose exports are used |
//! | `step` | one operation, done and compared with the model |
//! | `call` | calls into WebAssembly, and the host functions that they reach |
//! | `run` | a whole case, with its stores and threads |

mod call;
mod model;
mod module;
mod operation;
mod run;
mod step;

use crate::CaseTarget;
use operation::Case;

pub(crate) const TARGET: CaseTarget<Case> = CaseTarget {
    name: "api",
    make: |u| u.arbitrary(),
    check: run::check,
    render: |case| format!("{case:#?}"),
};
