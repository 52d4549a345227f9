//! Runs a case: stores of two engines take turns, on this and other threads, and are dropped while
//! their items are still used.

use super::call;
use super::model::{Foreign, Model};
use super::operation::{Case, Turn};
use super::step::{self, Verdict};
use crate::oracle::modes;
use ropewalk::{AsContextMut, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// The number of stores of a case.
const STORES: usize = 3;

/// Runs a case, and reports problems.
pub fn check(case: Case) -> Verdict {
    let mut stores = Stores { made: 0, modes: case.modes, foreign: Arc::default() };
    let mut all = Vec::new();
    for _ in 0..STORES {
        all.push(stores.make()?);
    }
    let verdict = take_turns(&mut stores, &mut all, case.turns);
    quietly(|| drop(all));
    verdict
}

fn take_turns(stores: &mut Stores, all: &mut [Store<Model>], turns: Vec<Turn>) -> Verdict {
    for turn in turns {
        match turn {
            Turn::Here(which, operations) => {
                let store = &mut all[which as usize % STORES];
                step::steps(&mut store.as_context_mut(), &operations)?;
            }
            Turn::Elsewhere(which, operations) => {
                let store = &mut all[which as usize % STORES];
                let there = std::thread::scope(|scope| {
                    let steps = || step::steps(&mut store.as_context_mut(), &operations);
                    scope.spawn(steps).join()
                });
                there.map_err(|_| "a panic on another thread".to_string())??;
            }
            Turn::Drop(which) => {
                let store = std::mem::replace(&mut all[which as usize % STORES], stores.make()?);
                quietly(|| drop(store));
            }
            Turn::Collect(which) => {
                let store = &mut all[which as usize % STORES];
                quietly(|| store.gc());
            }
        }
    }
    for store in all {
        step::verify(&mut store.as_context_mut())?;
        quietly(|| store.gc());
        step::verify(&mut store.as_context_mut())?;
    }
    Ok(())
}

/// Runs `work`, in which dropping host values may panic.
fn quietly(work: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(work)));
}

struct Stores {
    made: u64,
    modes: [u8; 2],
    foreign: Arc<Mutex<Foreign>>,
}

impl Stores {
    /// Creates a store of one of the engines, with an instance.
    fn make(&mut self) -> Verdict<Store<Model>> {
        self.made += 1;
        let modes = modes::all();
        let mode = self.modes[self.made as usize % 2] as usize % modes.len();
        let model = Model::new(self.made, self.foreign.clone());
        let mut store = Store::new(&modes[mode].engine, model);
        call::instantiate(&mut store.as_context_mut(), true)?;
        Ok(store)
    }
}
