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

use crate::Target;
use arbitrary::Unstructured;
use operation::Case;

/// The target.
pub struct Api;

impl Target for Api {
    fn name(&self) -> &'static str {
        "api"
    }

    fn check(&self, entropy: &[u8]) -> Result<(), String> {
        match case(entropy) {
            Some(case) => run::check(case),
            None => Ok(()),
        }
    }

    fn render(&self, entropy: &[u8]) -> String {
        case(entropy).map_or_else(String::new, |case| format!("{case:#?}"))
    }
}

fn case(entropy: &[u8]) -> Option<Case> {
    Unstructured::new(entropy).arbitrary().ok()
}
