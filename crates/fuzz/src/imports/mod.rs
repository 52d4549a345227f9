//! Misuse of the reserved imports: in any order and number, with references
//! that are used up, copied, of other designs and of other instances, and in
//! forms that are not theirs.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `vocabulary` | types, tags, and what instances share |
//! | `generate` | modules: their functions, values and places |
//! | `statement` | what they do |
//! | `misuse` | what must be refused |
//! | `run` | the oracle |

mod generate;
mod misuse;
mod run;
mod statement;
mod vocabulary;

use crate::CaseTarget;
use crate::oracle::modes;
use generate::Case;

pub(crate) const TARGET: CaseTarget<Case> = CaseTarget {
    name: "imports",
    make: |u| generate::case(u, modes::all().len()),
    check: |case| run::check(&case),
    render: |case| {
        format!(";; beside the default: {}\n{}", modes::all()[case.mode].name, case.source)
    },
};

/// Tries a module as it is, in the default mode and another: so that a finding
/// can be made smaller by hand.
pub fn check_source(source: &str, mode: usize) -> Result<(), String> {
    run::check(&Case { source: source.to_string(), mode, wild_routs: true, misuse: None })
}
