//! Checks that a store works once all hostile callbacks are removed.

use super::Verdict;
use super::borrowed_store::{self, judged};
use super::case::{Action, Call, Design, HostFunctionKind, Path};
use super::design_stacks;
use super::owned_store;
use super::world::{Data, World};
use ropewalk::{AsContextMut, OutOfFuel, Store, StoreLimits};
use std::sync::Arc;

const KINDS: [HostFunctionKind; 9] = [
    HostFunctionKind::Plain,
    HostFunctionKind::Caller,
    HostFunctionKind::Dynamic,
    HostFunctionKind::Values,
    HostFunctionKind::Later,
    HostFunctionKind::Boxed,
    HostFunctionKind::AsyncFn,
    HostFunctionKind::DynamicAsync,
    HostFunctionKind::Concurrent,
];

/// Resets the settings that callbacks and turns made, and tries everything.
pub fn settle(world: &Arc<World>, store: &mut Store<Data>) -> Verdict {
    world.clear_due();
    judged(world, || take_back(world, store));
    store.data().site.tally.expect_success();
    let mut verdict = Ok(());
    let has_panicked = judged(world, || verdict = works(world, store));
    match has_panicked {
        true => Err("a panic of the embedder came too late".to_string()),
        false => verdict,
    }
}

fn take_back(world: &Arc<World>, store: &mut Store<Data>) {
    store.limiter(StoreLimits::default());
    // Some engines lack these features.
    let _ = store.finish_trace();
    let _ = store.on_stack_event(|_| ());
    let _ = store.on_out_of_fuel(|_| Ok(OutOfFuel::Trap));
    let _ = store.set_fuel(u64::MAX / 2);
    let _ = store.fuel_async_yield_interval(None);
    let _ = store.set_time_slice(None);
    let _ = store.set_deadline(None);
    // An interruption while nothing ran ends the next call.
    store.data().site.tally.excuse();
    let _ = borrowed_store::run(&mut store.as_context_mut(), world, &Action::Suspended(1));
}

fn works(world: &Arc<World>, store: &mut Store<Data>) -> Verdict {
    let actions = [
        Action::Busy(12),
        Action::Trap,
        Action::Value,
        Action::Gc,
        Action::Spin(50),
        Action::Suspended(50),
        Action::Park,
        Action::Continue(3, 7),
        Action::Instantiate,
        Action::GrowTable { by_host: false },
        Action::Busy(3),
    ];
    for action in actions {
        borrowed_store::run(&mut store.as_context_mut(), world, &action)?;
    }
    for kind in KINDS {
        for path in Path::ALL {
            let call = Action::Call(Call { kind, path, x: 40 });
            borrowed_store::run(&mut store.as_context_mut(), world, &call)?;
        }
        for design in Design::ALL {
            let call = Call { kind, path: Path::Direct, x: 40 };
            design_stacks::whole_life(&mut store.as_context_mut(), design, call)?;
        }
    }
    let has_forgotten = store.data().site.tally.has_forgotten();
    if store.pending_calls() > 0 && !has_forgotten {
        return Err(format!("{} unexpected calls are pending", store.pending_calls()));
    }
    store.gc();
    if !has_forgotten && store.data().compiled.has_snapshots && !world.holds_stacks() {
        owned_store::survives(world, store)?;
    }
    Ok(())
}
