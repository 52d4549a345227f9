//! Random programs of all five designs, and what a model of the designs says
//! that they do.
//!
//! ```text
//!   bytes --> generate --> program --> render --> text --> engine, in every mode
//!                |                                              |
//!              model ---------> what the host sees <-- equal? --+
//! ```

mod engine;
mod generate;
mod model;
mod modes;
mod program;
mod render;

pub use generate::RECORD;

use crate::Target;
use model::{Machine, Seen};
use program::Program;

/// Programs that mix all designs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Designs;

impl Target for Designs {
    fn name(&self) -> &'static str {
        "designs"
    }

    fn check(&self, entropy: &[u8]) -> Result<(), String> {
        let written = generate::generate(entropy);
        if written.program.calls.is_empty() {
            return Ok(());
        }
        let expected = Machine::run(written.program.clone());
        if expected.seen != written.seen {
            return Err(format!(
                "the model disagrees with itself: {}",
                difference(&written.seen, &expected.seen)
            ));
        }
        compare(&expected)
    }

    fn render(&self, entropy: &[u8]) -> String {
        let written = generate::generate(entropy);
        let mut text = render::script(&written.program);
        for seen in &written.seen {
            text.push_str(&format!(";; expected: {seen:?}\n"));
        }
        text
    }
}

/// Runs a program in all modes; each must do what the model says.
fn compare(expected: &Machine) -> Result<(), String> {
    let program: &Program = &expected.program;
    let texts = render::modules(program);
    for mode in modes::modes() {
        if expected.depth > mode.depth {
            continue;
        }
        let stores = engine::run(program, &texts, &mode)
            .map_err(|error| format!("{}: {error:#}", mode.name))?;
        for mut seen in stores {
            if expected.unspecified {
                seen.truncate(expected.seen.len());
            }
            if seen != expected.seen {
                return Err(format!("{}: {}", mode.name, difference(&expected.seen, &seen)));
            }
        }
    }
    Ok(())
}

/// The first thing that differs.
fn difference(expected: &[Seen], found: &[Seen]) -> String {
    let length = expected.len().max(found.len());
    let at = (0..length).find(|&at| expected.get(at) != found.get(at)).unwrap_or_default();
    let show = |seen: Option<&Seen>| seen.map_or("nothing".to_string(), |seen| format!("{seen:?}"));
    format!("expected {}, found {}, at {at}", show(expected.get(at)), show(found.get(at)))
}
