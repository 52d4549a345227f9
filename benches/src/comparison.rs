//! Writes `docs/COMPARISON.md`: the same programs in every design, with their figures and pictures.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use ropewalk::{Config, Engine, Module, OptLevel};
use ropewalk_example_patterns::{PATTERNS, Pattern, Program, page, pictures, replaced};

use crate::clock::Clock;
use crate::conditions;
use crate::measure::LONG_ENOUGH;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// Measures all programs and writes the page and its pictures.
pub fn write(rounds: usize) -> Result<bool> {
    let mut times = HashMap::new();
    for pattern in PATTERNS {
        crate::progress(pattern.name);
        times.insert(pattern.name, self::times(pattern, rounds)?);
    }
    crate::progress("");
    let figures = PATTERNS.iter().map(Pattern::figures).collect::<Result<Vec<_>>>()?;
    let file = Path::new(DOCS).join("COMPARISON.md");
    let time = |pattern: &Pattern, design: &str| times[pattern.name].get(design).copied();
    let document = page(&fs::read_to_string(&file)?, &figures, time)?;
    let machine = format!("{}, {rounds} rounds.\n", conditions::without_peer());
    fs::write(&file, replaced(&document, "machine", &machine)?)?;
    let folder = Path::new(DOCS).join("pictures/comparison");
    fs::create_dir_all(&folder)?;
    for (name, picture) in pictures(&figures) {
        fs::write(folder.join(name), picture)?;
    }
    Ok(true)
}

/// The nanoseconds of one unit of each program. The designs take turns.
fn times(pattern: &Pattern, rounds: usize) -> Result<HashMap<&'static str, f64>> {
    let engine = Engine::new(Config::new().opt_level(OptLevel::Speed))?;
    let compile = |source: &&'static str| Module::new(&engine, *source);
    let modules = pattern.guests.iter().map(|(_, source)| compile(source));
    let modules = modules.collect::<Result<Vec<_>>>()?;
    let mut fastest = vec![[f64::INFINITY; 2]; modules.len()];
    for _ in 0..rounds {
        for (side, argument) in [1, pattern.timed].into_iter().enumerate() {
            let mut result = None;
            for (module, fastest) in modules.iter().zip(&mut fastest) {
                let mut program = Program::new(&engine, module)?;
                let run = Clock::Thread.time(|| program.run(argument))?;
                let name = pattern.name;
                ensure!(*result.get_or_insert(run.result) == run.result, "{name}: results differ");
                fastest[side] = fastest[side].min(run.cost);
            }
        }
    }
    let units = (pattern.timed - 1) as f64;
    let mut times = HashMap::new();
    for ((design, _), [tiny, large]) in pattern.guests.iter().zip(fastest) {
        ensure!(large > LONG_ENOUGH / 10.0, "{} with {design}: too short", pattern.name);
        times.insert(*design, (large - tiny) / units * 1e9);
    }
    Ok(times)
}
