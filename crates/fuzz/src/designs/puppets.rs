//! Puppets: programs that are compiled once and then told what to do, so that
//! thousands of scripts can be tried in the time in which one program is
//! compiled.

use super::engine::{self, Compiled};
use super::model::Machine;
use super::modes::{self, Mode};
use super::program::Program;
use super::{choices, compare_one, difference, generate, render};
use crate::Target;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Scripts for puppets, in some modes.
#[derive(Clone, Copy, Debug)]
pub struct Puppets {
    /// What the target is called.
    pub name: &'static str,
    /// The modes, in groups.
    pub modes: fn() -> Vec<Vec<Mode>>,
}

/// What the first bytes of a case say.
struct Case<'e> {
    puppet: u64,
    modes: Vec<Mode>,
    script: &'e [u8],
}

impl Case<'_> {
    fn new(entropy: &[u8], modes: Vec<Vec<Mode>>) -> Case<'_> {
        let (head, script) = entropy.split_at(entropy.len().min(2));
        let byte = |at: usize| u64::from(head.get(at).copied().unwrap_or_default());
        Case {
            puppet: byte(0) % generate::PUPPETS,
            modes: modes::one_of_each(modes, byte(1) % 32),
            script,
        }
    }

    fn play(&self) -> Machine {
        generate::play(program(self.puppet), self.script)
    }
}

impl Target for Puppets {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, entropy: &[u8]) -> Result<(), String> {
        let case = Case::new(entropy, (self.modes)());
        let written = case.play();
        let expected = Machine::run(written.program.clone());
        if expected.seen != written.seen {
            let difference = difference(&written.seen, &expected.seen);
            return Err(format!("the model disagrees with itself: {difference}"));
        }
        for mode in case.modes.iter().filter(|mode| expected.depth <= mode.depth) {
            let compiled = compiled(case.puppet, mode);
            let compiled = compiled.map_err(|error| format!("{}: {error:#}", mode.name))?;
            compare_one(&expected, &compiled, mode, choices(entropy))?;
        }
        Ok(())
    }

    fn render(&self, entropy: &[u8]) -> String {
        let case = Case::new(entropy, (self.modes)());
        let written = case.play();
        let modes: Vec<_> = case.modes.iter().map(|mode| &mode.name[..]).collect();
        let mut text = format!(";; modes: {}\n", modes.join("; "));
        for told in &written.told {
            text.push_str(&format!(
                ";; stack {}, $fn{}: {}: {:?}\n",
                told.stack, told.function, told.number, told.op
            ));
        }
        for seen in &written.seen {
            text.push_str(&format!(";; expected: {seen:?}\n"));
        }
        text.push_str(&format!(";; the script at address 0: {:?}\n", written.program.script));
        text.push_str(&render::script(&written.program));
        text
    }
}

/// Programs and what they are compiled to are kept, by the number of the puppet
/// and the name of the mode.
type Kept<K, V> = OnceLock<Mutex<HashMap<K, V>>>;

fn program(puppet: u64) -> Program {
    thread_local! {
        static KEPT: std::cell::RefCell<HashMap<u64, Program>> = Default::default();
    }
    KEPT.with_borrow_mut(|kept| {
        kept.entry(puppet).or_insert_with(|| generate::puppet(puppet)).clone()
    })
}

fn compiled(puppet: u64, mode: &Mode) -> anyhow::Result<Arc<Compiled>> {
    static KEPT: Kept<(u64, String), Arc<Compiled>> = OnceLock::new();
    let kept = KEPT.get_or_init(Mutex::default);
    let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (puppet, mode.name.clone());
    if let Some(compiled) = kept.get(&key) {
        return Ok(compiled.clone());
    }
    let texts = render::modules(&program(puppet));
    let compiled = Arc::new(engine::prepare(&texts, mode)?);
    kept.insert(key, compiled.clone());
    Ok(compiled)
}
