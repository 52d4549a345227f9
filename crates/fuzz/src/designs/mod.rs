//! Random programs of all five designs, and what a model of the designs says
//! that they do.
//!
//! ```text
//!   bytes --> generate --> program --> render --> text --> engine, in every mode
//!                |                                              |
//!              model ---------> what the host sees <-- equal? --+
//! ```
//!
//! In some modes the engine's store is [written down](written) meanwhile, and what is read again
//! must go on as the model says.

mod engine;
mod generate;
mod model;
mod modes;
mod program;
mod puppets;
mod render;
mod written;

pub use generate::RECORD;

use crate::Target;
use engine::Compiled;
use model::{Machine, Seen};
use modes::Mode;
use program::Program;

/// Programs that mix all designs, in some modes.
#[derive(Clone, Copy, Debug)]
pub struct Designs {
    name: &'static str,
    modes: fn() -> Vec<Vec<Mode>>,
}

/// One target for the stress modes, one for the last generations of references, and one for
/// stores that are written down; and puppets for all of these.
pub fn targets() -> Vec<Box<dyn Target>> {
    vec![
        Box::new(Designs { name: "designs", modes: modes::stress }),
        Box::new(Designs { name: "generations", modes: modes::generations }),
        Box::new(Designs { name: "snapshots", modes: modes::written }),
        Box::new(puppets::Puppets { name: "puppets", modes: modes::unwritten }),
        Box::new(puppets::Puppets { name: "snapshot-puppets", modes: modes::written }),
    ]
}

impl Designs {
    fn modes_of(&self, entropy: &[u8]) -> Vec<Mode> {
        modes::one_of_each((self.modes)(), choices(entropy))
    }
}

/// The number that decides what is not in the program, such as the modes of a case: by the first
/// record, so that it stays the same when others are left out.
fn choices(entropy: &[u8]) -> u64 {
    let first = entropy.iter().take(RECORD);
    first.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

impl Target for Designs {
    fn name(&self) -> &'static str {
        self.name
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
        compare(&expected, &self.modes_of(entropy), choices(entropy))
    }

    fn render(&self, entropy: &[u8]) -> String {
        let written = generate::generate(entropy);
        let modes: Vec<_> = self.modes_of(entropy).into_iter().map(|mode| mode.name).collect();
        let mut text = format!(";; modes: {}\n", modes.join("; "));
        text.push_str(&render::script(&written.program));
        for seen in &written.seen {
            text.push_str(&format!(";; expected: {seen:?}\n"));
        }
        text
    }
}

/// Runs a program in some modes; each must do what the model says.
fn compare(expected: &Machine, modes: &[Mode], choices: u64) -> Result<(), String> {
    let program: &Program = &expected.program;
    let texts = render::modules(program);
    for mode in modes {
        if expected.depth > mode.depth {
            continue;
        }
        let compiled =
            engine::prepare(&texts, mode).map_err(|error| format!("{}: {error:#}", mode.name))?;
        compare_one(expected, &compiled, mode, choices)?;
    }
    Ok(())
}

/// Runs a program in one mode.
fn compare_one(
    expected: &Machine,
    compiled: &Compiled,
    mode: &Mode,
    choices: u64,
) -> Result<(), String> {
    let program = &expected.program;
    let sights = match mode.written {
        true => written::run(program, compiled, choices),
        false => engine::run(program, compiled, mode.stores),
    };
    let sights = sights.map_err(|error| format!("{}: {error:#}", mode.name))?;
    for (place, mut seen) in sights {
        if expected.unspecified {
            seen.truncate(expected.seen.len());
        }
        if seen != expected.seen {
            let difference = difference(&expected.seen, &seen);
            return Err(format!("{}: {place}: {difference}", mode.name));
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

#[cfg(test)]
mod tests {
    use super::model::{Outcome, Seen};
    use super::program::{Bag, FirstClass, Op, Typed};
    use super::*;

    fn is_refusal(seen: &Seen) -> bool {
        matches!(seen, Seen::End(Outcome::Trapped(why), _) if why == "stack cannot be copied")
    }

    /// Of each design that has copies, how many programs of some seeds have one.
    fn with_copies(programs: &[&Program]) -> [usize; 3] {
        let is_copy: [fn(&Op) -> bool; 3] = [
            |op| matches!(op, Op::Typed(Typed::Clone { .. })),
            |op| matches!(op, Op::Bag(Bag::Clone { .. })),
            |op| matches!(op, Op::FirstClass(FirstClass::Clone { .. })),
        ];
        is_copy.map(|is_copy| {
            let has = |program: &&&Program| {
                program.blocks.iter().any(|block| block.ops.iter().any(|op| is_copy(op)))
            };
            programs.iter().filter(has).count()
        })
    }

    #[test]
    fn random_programs_make_copies_and_are_refused_some() {
        let machines: Vec<Machine> =
            (0..400).map(|seed| generate::generate(&crate::seeds::entropy(seed))).collect();
        let programs: Vec<&Program> = machines.iter().map(|machine| &machine.program).collect();
        let designs = with_copies(&programs);
        assert!(designs.iter().all(|&programs| programs >= 20), "{designs:?}");
        let copies: usize = machines.iter().map(|machine| machine.copies).sum();
        assert!(copies >= 400, "{copies} copies");
        let refused = machines.iter().flat_map(|machine| &machine.seen).filter(|s| is_refusal(s));
        assert!(refused.count() >= 5);
    }

    #[test]
    fn puppets_make_copies() {
        let copies = (0..generate::PUPPETS).map(|puppet| {
            let script = crate::seeds::entropy(puppet);
            generate::play(generate::puppet(puppet), &script).copies
        });
        let with_copies = copies.filter(|&copies| copies > 0).count();
        assert!(with_copies >= 12, "{with_copies} puppets");
    }
}
