//! Target `api`: sequences of calls of the embedding API, compared with a model.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation` | operations of the host, as a tree: host functions run more of them |
//! | `model` | the expected contents of globals, tables, memories and objects |
//! | `module` | the module that the cases use |
//! | `step` | performs an operation, and compares its result with the model |
//! | `call` | calls into WebAssembly, and the host functions that they reach |
//! | `run` | runs a case, with its stores and threads |

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
