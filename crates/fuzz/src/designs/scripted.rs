//! Scripted programs: each is compiled once, and then runs any number of scripts. So thousands of
//! scripts take the time of compiling one program.

use super::engine::{self, Compiled};
use super::modes::Mode;
use super::program::Program;
use super::{generate, render};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// The scripted program with a number.
pub fn program(number: usize) -> Program {
    thread_local! {
        static PROGRAMS: RefCell<HashMap<usize, Program>> = RefCell::default();
    }
    PROGRAMS.with_borrow_mut(|programs| {
        programs.entry(number).or_insert_with(|| generate::scripted_program(number)).clone()
    })
}

/// A scripted program, compiled in a mode.
pub fn compiled(number: usize, mode: &Mode) -> anyhow::Result<Arc<Compiled>> {
    type Programs = HashMap<(usize, String), Arc<Compiled>>;
    static COMPILED: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);
    let mut programs = crate::lock(&COMPILED);
    let key = (number, mode.name.clone());
    if let Some(compiled) = programs.get(&key) {
        return Ok(compiled.clone());
    }
    let compiled = Arc::new(engine::prepare(&render::modules(&program(number)), mode)?);
    programs.insert(key, compiled.clone());
    Ok(compiled)
}
