//! Target `imports`: misuse of the reserved imports, in any order and number. References are stale,
//! copied, of other designs and of other instances, and calls have wrong forms.
//!
//! | file | contents |
//! | --- | --- |
//! | `vocabulary` | types, tags, and the items that instances share |
//! | `generate` | modules: their functions, values and places |
//! | `statement` | statements in functions |
//! | `misuse` | uses that must be rejected |
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
