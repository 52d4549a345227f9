//! Target `smith`: modules of WebAssembly 3.0 by `wasm-smith`, which end because they have fuel. They
//! must do the same in every mode of the engine, and in another engine.
//!
//! | file | contents |
//! | --- | --- |
//! | `generate` | modules, and arguments for their exports |
//! | `engine` | runs a module in a mode of the engine |

mod engine;
mod generate;

use crate::CaseTarget;
use crate::oracle::modes;
use crate::oracle::observation::Observation;
use generate::Case;

pub(crate) const TARGET: CaseTarget<Case> = CaseTarget {
    name: "smith",
    make: |u| generate::case(u, modes::all().len()),
    check: |case| check(&case),
    render: |case| {
        let text = wasmprinter::print_bytes(&case.wasm);
        let text = text.unwrap_or_else(|error| format!(";; not printed: {error}"));
        let mode = modes::all()[case.mode].name;
        format!(";; beside the default: {mode}\n;; arguments: {:?}\n{text}", case.numbers)
    },
};

fn check(case: &Case) -> Result<(), String> {
    let [default, ..] = modes::all() else { return Err("there is no mode".to_string()) };
    let other = &modes::all()[case.mode];
    let expected = engine::observe(default, case)?;
    expected.same_as(&engine::observe(other, case)?, default.name, other.name)?;
    compare_with_wasmtime(case, &expected)
}

#[cfg(feature = "wasmtime")]
fn compare_with_wasmtime(case: &Case, expected: &Observation) -> Result<(), String> {
    match crate::oracle::wasmtime::observe(&case.wasm, &case.numbers)? {
        Some(found) => expected.same_as(&found, "Ropewalk", "Wasmtime"),
        None => Ok(()),
    }
}

#[cfg(not(feature = "wasmtime"))]
fn compare_with_wasmtime(_: &Case, _: &Observation) -> Result<(), String> {
    Ok(())
}
