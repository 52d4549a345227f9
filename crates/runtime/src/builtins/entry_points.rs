//! Makes stores with the builtins and runtime calls of this crate.

use super::{STRESS_TABLE, TABLE, call_again};
use crate::arch::calls::RuntimeCalls;
use crate::host::leave::leaving;
use crate::observe::trace;
use crate::run::lifecycle::bind::deliver_checked;
use crate::run::{grow, interrupt};
use crate::store::entry_points::EntryPoints;
use crate::store::{Store, StoreOptions, parking};

static CALLS: RuntimeCalls = RuntimeCalls {
    paused: interrupt::paused,
    make_room: grow::make_room,
    unpark_running: parking::unpark_running,
    deliver_checked,
    leaving,
    host_called: trace::host_called,
    host_returned: trace::host_returned,
    finished: trace::finished,
};

/// Makes a store. It is boxed because generated code knows its address.
pub fn new_store(options: StoreOptions) -> Box<Store> {
    let table = match options.stress.check_stacks | options.stress.move_stacks {
        false => &TABLE,
        true => &STRESS_TABLE,
    };
    let is_traced = options.trace;
    let entry_points =
        EntryPoints { builtins: table.as_ptr(), call_again, before_drop, calls: &CALLS };
    let mut store = Store::new(options, entry_points);
    if is_traced {
        store.begin_trace();
    }
    store
}

/// Ends a streamed trace, if the embedder has not.
fn before_drop(store: &mut Store) {
    store.finish_trace();
}
