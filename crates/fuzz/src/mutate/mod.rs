//! Target `mutate`: mutated modules and scripts of this repository, as text and as binaries.
//!
//! | file | contents |
//! | --- | --- |
//! | `corpus` | the inputs to mutate |
//! | `token` | finds tokens and forms in a text |
//! | `text` | mutates text |
//! | `binary` | mutates binaries |
//! | `judge` | runs every entry point, and checks its result |

mod binary;
mod corpus;
mod judge;
mod text;
mod token;

use crate::CaseTarget;
use arbitrary::{Result, Unstructured};

pub(crate) const TARGET: CaseTarget<Input> = CaseTarget {
    name: "mutate",
    make: input,
    check: |input| judge::check(&input),
    render: |input| match input {
        Input::Module(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.starts_with('\0') => text.to_string(),
            _ => binary::as_text(bytes),
        },
        Input::Script(text) => text.clone(),
    },
};

/// An input for the engine.
pub enum Input {
    /// A module in either format, or a damaged one.
    Module(Vec<u8>),
    /// A script without code that runs for long.
    Script(String),
}

/// Makes an input.
fn input(u: &mut Unstructured<'_>) -> Result<Input> {
    let kind = u.int_in_range(0..=9)?;
    if kind >= 8 {
        let script = text::changed(corpus::script(u)?, u)?;
        return Ok(match corpus::ends_soon(&script) {
            true => Input::Script(script),
            false => Input::Module(script.into_bytes()),
        });
    }
    let module = corpus::module(u)?;
    if kind < 5 {
        let module = text::changed(module.to_string(), u)?;
        return Ok(Input::Module(binary::rarely_changed(module.into_bytes(), u)?));
    }
    let binaries = [module, corpus::module(u)?].map(corpus::binary);
    let [Some(one), Some(other)] = binaries else {
        return Ok(Input::Module(module.as_bytes().to_vec()));
    };
    Ok(Input::Module(binary::changed(one, &other, u)?))
}
