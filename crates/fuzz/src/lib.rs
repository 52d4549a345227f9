//! Fuzzes the engine: random programs, inputs and uses, and oracles for what they must do.
//!
//! | module | contents |
//! | --- | --- |
//! | [`seeds`] | random bytes |
//! | [`oracle`] | modes of the engine, observations, Wasmtime |
//! | [`designs`] | target `designs` and its variants: programs of all designs, and a model |
//! | `turns` | cases that are made of turns of several stores |
//! | [`api`], [`embedder`], [`imports`], [`mutate`], [`smith`] | the targets with these names |
//! | [`child`] | runs cases in a child process |
//! | [`minimize`], [`finding`] | minimize a finding, and write it |
//! | [`drive`] | runs cases for a given time |
//!
//! Each module uses only those above it.
//!
//! A [`Target`] builds a case from random bytes, runs it, and reports problems. The same bytes
//! always give the same case, so a seed identifies a finding. Fewer bytes give a smaller case, so
//! minimizing means removing bytes.

#![forbid(unsafe_code)]

pub mod api;
pub mod child;
pub mod designs;
pub mod drive;
pub mod embedder;
pub mod finding;
pub mod imports;
pub mod minimize;
pub mod mutate;
pub mod oracle;
pub mod seeds;
pub mod smith;
mod turns;

use arbitrary::Unstructured;
use std::sync::{Mutex, MutexGuard};

/// A generator of cases, and the oracle for them.
pub trait Target: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Builds a case from random bytes and runs it. An error describes the problem.
    fn check(&self, entropy: &[u8]) -> Result<(), String>;

    /// Prints the case, to read it or to turn it into a test.
    fn render(&self, entropy: &[u8]) -> String;
}

/// A target with cases of type `C`.
pub(crate) struct CaseTarget<C> {
    pub name: &'static str,
    pub make: fn(&mut Unstructured<'_>) -> arbitrary::Result<C>,
    pub check: fn(C) -> Result<(), String>,
    pub render: fn(&C) -> String,
}

impl<C> Target for CaseTarget<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, entropy: &[u8]) -> Result<(), String> {
        (self.make)(&mut Unstructured::new(entropy)).map_or(Ok(()), self.check)
    }

    fn render(&self, entropy: &[u8]) -> String {
        let case = (self.make)(&mut Unstructured::new(entropy));
        case.map_or_else(|_| String::new(), |case| (self.render)(&case))
    }
}

/// The message of a failed host function, without its frames.
pub(crate) fn message(error: &ropewalk::Error) -> String {
    match error.downcast_ref::<ropewalk::HostError>() {
        Some(error) => error.message().to_string(),
        None => error.root_cause().to_string(),
    }
}

/// Locks a mutex, even if a thread has panicked while it had the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// All targets.
pub fn targets() -> Vec<Box<dyn Target>> {
    let mut targets = designs::targets();
    targets.push(Box::new(api::TARGET));
    targets.push(Box::new(embedder::TARGET));
    targets.push(Box::new(imports::TARGET));
    targets.push(Box::new(mutate::TARGET));
    targets.push(Box::new(smith::TARGET));
    targets
}
