//! Random programs of all five designs, and a model that predicts what they do.
//!
//! ```text
//!   bytes --> generate --> program --> render --> text --> engine, in every mode
//!                |                                              |
//!              model ---------> what the host sees <-- equal? --+
//! ```
//!
//! Some targets write a new program for each case. Others write a script for one of a few
//! [scripted] programs. In some modes the store is restored from [snapshots] while the program runs.

mod engine;
mod generate;
mod model;
mod modes;
mod program;
mod render;
mod scripted;
mod snapshots;

pub use generate::RECORD;

use crate::Target;
use engine::Compiled;
use model::{Machine, Seen};
use modes::Mode;
use std::sync::Arc;

/// Groups of modes. A case runs in one mode of each group.
type Modes = fn() -> Vec<Vec<Mode>>;

/// Programs that mix all designs, in some modes.
#[derive(Clone, Copy, Debug)]
pub struct Designs {
    name: &'static str,
    modes: Modes,
    is_scripted: bool,
}

/// The targets with new programs, in different modes, then those with scripts.
pub fn targets() -> Vec<Box<dyn Target>> {
    let targets: [(_, Modes, _); 5] = [
        ("designs", modes::stress, false),
        ("generations", modes::generations, false),
        ("snapshots", modes::with_snapshots, false),
        ("scripted", modes::without_snapshots, true),
        ("scripted-snapshots", modes::with_snapshots, true),
    ];
    let target = |(name, modes, is_scripted)| -> Box<dyn Target> {
        Box::new(Designs { name, modes, is_scripted })
    };
    targets.map(target).into()
}

/// A program that the model has run, and the modes for the engine.
struct Case {
    machine: Machine,
    modes: Vec<Mode>,
    /// The number of the scripted program, if it is one.
    scripted: Option<usize>,
}

impl Designs {
    fn case(&self, entropy: &[u8]) -> Case {
        let modes = |number| modes::one_of_each((self.modes)(), number);
        if !self.is_scripted {
            let modes = modes(choices(entropy));
            return Case { machine: generate::generate(entropy), modes, scripted: None };
        }
        let (head, script) = entropy.split_at(entropy.len().min(2));
        let byte = |at: usize| head.get(at).copied().unwrap_or_default();
        let number = byte(0) as usize % generate::SCRIPTED_PROGRAMS;
        let machine = generate::write_script(scripted::program(number), script);
        Case { machine, modes: modes(u64::from(byte(1)) % 32), scripted: Some(number) }
    }
}

/// A number for the choices outside the program, such as the modes. It depends on the first record
/// alone, so that it stays the same when other records are removed.
fn choices(entropy: &[u8]) -> u64 {
    let first = entropy.iter().take(RECORD);
    first.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

impl Target for Designs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, entropy: &[u8]) -> Result<(), String> {
        let Case { machine, modes, scripted } = self.case(entropy);
        let program = &machine.program;
        if program.calls.is_empty() {
            return Ok(());
        }
        let expected = Machine::run(program.clone());
        if expected.seen != machine.seen {
            let difference = difference(&machine.seen, &expected.seen);
            return Err(format!("the model disagrees with itself: {difference}"));
        }
        for mode in modes.iter().filter(|mode| expected.depth <= mode.depth) {
            let compiled = match scripted {
                Some(number) => scripted::compiled(number, mode),
                None => engine::prepare(&render::modules(program), mode).map(Arc::new),
            };
            let compiled = compiled.map_err(|error| format!("{}: {error:#}", mode.name))?;
            compare(&expected, &compiled, mode, choices(entropy))?;
        }
        Ok(())
    }

    fn render(&self, entropy: &[u8]) -> String {
        let Case { machine, modes, .. } = self.case(entropy);
        let modes: Vec<_> = modes.iter().map(|mode| &mode.name[..]).collect();
        let mut text = format!(";; modes: {}\n", modes.join("; "));
        for model::ScriptStep { stack, function, number, op } in &machine.script_steps {
            text.push_str(&format!(";; stack {stack}, $fn{function}: {number}: {op:?}\n"));
        }
        for seen in &machine.seen {
            text.push_str(&format!(";; expected: {seen:?}\n"));
        }
        text.push_str(&format!(";; the script at address 0: {:?}\n", machine.program.script));
        text + &render::script(&machine.program)
    }
}

/// Runs a program in one mode, and compares what the host sees with the model.
fn compare(
    expected: &Machine,
    compiled: &Compiled,
    mode: &Mode,
    choices: u64,
) -> Result<(), String> {
    let program = &expected.program;
    let sights = match mode.has_snapshots {
        true => snapshots::run(program, compiled, choices),
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

/// Describes the first difference.
fn difference(expected: &[Seen], found: &[Seen]) -> String {
    let length = expected.len().max(found.len());
    let at = (0..length).find(|&at| expected.get(at) != found.get(at)).unwrap_or_default();
    let show = |seen: Option<&Seen>| seen.map_or("nothing".to_string(), |seen| format!("{seen:?}"));
    format!("expected {}, found {}, at {at}", show(expected.get(at)), show(found.get(at)))
}

#[cfg(test)]
mod tests {
    use super::model::{Outcome, Seen};
    use super::program::{Bag, FirstClass, Op, Program, Typed};
    use super::*;

    fn is_refusal(seen: &Seen) -> bool {
        matches!(seen, Seen::End(Outcome::Trapped(why), _) if why == "stack cannot be copied")
    }

    /// For each design with copies, the number of programs that have one.
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
    fn scripted_programs_make_copies() {
        let copies = (0..generate::SCRIPTED_PROGRAMS).map(|number| {
            let script = crate::seeds::entropy(number as u64);
            generate::write_script(generate::scripted_program(number), &script).copies
        });
        let with_copies = copies.filter(|&copies| copies > 0).count();
        assert!(with_copies >= 12, "{with_copies} programs");
    }
}
