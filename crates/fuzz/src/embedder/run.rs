//! Runs a case.

use super::Verdict;
use super::borrowed_store::{self, judged};
use super::case::{Case, Turn};
use super::final_check::settle;
use super::modes;
use super::owned_store;
use super::site;
use super::world::{STORES, World};
use ropewalk::AsContextMut;
use std::sync::Arc;
use std::thread;

/// Runs a case, and reports problems.
pub fn check(case: Case) -> Verdict {
    check_in(&World::new(case.modes.map(modes::compiled)), &case)
}

fn check_in(world: &Arc<World>, case: &Case) -> Verdict {
    for which in 0..STORES {
        world.add(world.make(which)?);
    }
    for turn in &case.turns {
        judged(world, || take(world, turn));
        world.clear_due();
        world.verdict()?;
    }
    // Handles are dropped before or after their stores.
    if case.modes[0] < 128 {
        judged(world, || drop(world.take_things()));
    }
    for which in 0..STORES {
        world.with_store(which as u8, |store| world.note(settle(world, store)));
        world.verdict()?;
    }
    judged(world, || drop(world.take_stores()));
    judged(world, || drop(world.take_things()));
    world.verdict()
}

fn take(world: &Arc<World>, turn: &Turn) {
    match turn {
        Turn::Borrow(which, act) => {
            world.with_store(*which, |store| {
                borrowed_store::perform(&mut store.as_context_mut(), act)
            });
        }
        Turn::OwnedAction(which, due, own) => {
            world.with_store(*which, |store| owned_store::perform(world, store, due, own));
        }
        Turn::OwnOnAnotherThread(which, due, own) => {
            world.with_store(*which, |store| {
                thread::scope(|scope| {
                    scope.spawn(|| owned_store::perform(world, store, due, own));
                });
            });
        }
        Turn::Swap(a, b) => world.swap_stores(*a, *b),
        Turn::Replace(which, due) => {
            world.add_due(due);
            world.with_store(*which, |store| site::replace(world, *which, store));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds;
    use arbitrary::Unstructured;
    use std::collections::HashSet;

    #[test]
    fn callbacks_of_most_places_do_harm_in_few_cases() {
        let mut places = HashSet::new();
        for seed in 0..200 {
            let entropy = seeds::entropy(seed);
            let case: Case = Unstructured::new(&entropy).arbitrary().expect("a case");
            let world = World::new(case.modes.map(modes::compiled));
            check_in(&world, &case).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
            places.extend(world.acts());
        }
        assert!(places.len() >= 20, "{places:?}");
    }
}
