//! Host functions that leave the stack of their caller: they suspend a task, dismount a fiber,
//! switch to a stack of a bag, or send an event to a first-class stack.

mod bag;
mod fibers;
mod first_class;
mod tasks;

use crate::common::*;
use ropewalk::*;

/// Engines in all modes, and one that records traces.
pub fn traced_too() -> Vec<Engine> {
    let mut all = all_engines();
    all.push(Engine::new(Config::new().trace(true)).unwrap());
    all
}

fn get<R: WasmResults>(store: &mut Store<()>, instance: Instance, name: &str) -> R {
    invoke::<(), R>(store, instance, name, ()).unwrap()
}

fn tag(store: &mut Store<()>, instance: Instance, name: &str) -> Tag {
    instance.get_tag(store, name).expect("exported")
}

fn i32s(values: &[Val]) -> Vec<i32> {
    values.iter().map(|value| value.i32().expect("an i32")).collect()
}

/// Does everything that can happen to suspended stacks: collects, and packs their frames.
fn disturb(store: &mut Store<()>) {
    store.gc();
    store.park_idle();
    store.gc();
}
