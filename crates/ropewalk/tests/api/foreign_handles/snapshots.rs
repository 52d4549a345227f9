//! Snapshots, named handles in them, and calls of restored stores.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    [names(), snapshots(), calls()].into_iter().flatten().collect()
}

/// A snapshot of my store that names a handle of theirs.
fn named(
    mine: &mut Home,
    name: impl FnOnce(&mut SnapshotOptions) -> &mut SnapshotOptions,
) -> Result<Snapshot> {
    let mut options = SnapshotOptions::new();
    name(&mut options);
    mine.store.snapshot(&options)
}

fn names() -> Vec<Row> {
    table! {m, t:
        "SnapshotOptions::name_bag_stack" STORE, stack = t.bag_stack() =>
            named(m, |options| options.name_bag_stack("name", &stack));
        "SnapshotOptions::name_continuation" STORE, continuation = t.continuation() =>
            named(m, |options| options.name_continuation("name", &continuation));
        "SnapshotOptions::name_fiber" STORE, fiber = t.fiber() =>
            named(m, |options| options.name_fiber("name", &fiber));
        "SnapshotOptions::name_first_class_stack" STORE, stack = t.first_class_stack() =>
            named(m, |options| options.name_first_class_stack("name", &stack));
        "SnapshotOptions::name_func" STORE, run = t.run() =>
            named(m, |options| options.name_func("name", run));
        "SnapshotOptions::name_instance" STORE =>
            named(m, |options| options.name_instance("name", t.instance));
        "SnapshotOptions::name_reference" STORE, owned = t.pair().own(&mut t.store).unwrap() =>
            named(m, |options| options.name_reference("name", &owned));
        "SnapshotOptions::name_task" STORE, task = t.task() =>
            named(m, |options| options.name_task("name", &task));
    }
}

/// Options that name a function of theirs.
fn naming(theirs: &mut Home) -> SnapshotOptions {
    let mut options = SnapshotOptions::new();
    options.name_func("name", theirs.run());
    options
}

fn snapshots() -> Vec<Row> {
    table! {m, t:
        "Accessor::snapshot" STORE, options = naming(t) =>
            block_on(m.store.run_concurrent(async |accessor| accessor.snapshot(&options)));
        "Caller::snapshot" STORE => {
            let options = naming(t);
            let func = Func::wrap(&mut m.store, move |mut caller: Caller<'_, ()>| {
                caller.snapshot(&options).map(drop)
            });
            func.call(&mut m.store, &[], &mut [])
        };
        "Store::snapshot" STORE => m.store.snapshot(&naming(t));
        "Store::on_snapshot_request" STORE => {
            let request = m.store.on_snapshot_request(naming(t), |_, taken| taken.map(drop));
            request.unwrap().request();
            m.func("spin").call(&mut m.store, &[], &mut [])
        };
        // The bytes of snapshots are compared.
        "SnapshotOptions::since" ACCEPTED => {
            let theirs = t.snapshot();
            let since = named(m, |options| options.since(&theirs))?;
            since.on(&theirs)?.restore(&m.linker(), std::slice::from_ref(&m.module), ())
        };
        "Snapshot::on" SNAPSHOT => {
            t.memory().write(&mut t.store, 0, b"theirs")?;
            let (mine, theirs) = (m.snapshot(), t.snapshot());
            named(m, |options| options.since(&mine))?.on(&theirs)
        };
        "Snapshot::restore" SNAPSHOT_OF_ENGINE =>
            m.snapshot().restore(&m.linker(), std::slice::from_ref(&t.module), ());
        "Snapshot::restore" SNAPSHOT_OF_ENGINE =>
            m.snapshot().restore(&t.linker(), std::slice::from_ref(&m.module), ());
        // The snapshot is restored in their engine.
        "Snapshot::restore_by" ACCEPTED => {
            let mut restoring = Restoring::new(&t.engine, [t.module.clone()]);
            restoring.functions(&t.linker())?;
            m.snapshot().restore_by(&restoring, ())
        };
        "Restoring::new" SNAPSHOT_OF_ENGINE => {
            let mut restoring = Restoring::new(&m.engine, [t.module.clone()]);
            restoring.functions(&m.linker())?;
            m.snapshot().restore_by(&restoring, ())
        };
        "Restoring::functions" ENGINE =>
            Restoring::new(&m.engine, []).functions(&t.linker()).map(drop);
    }
}

fn calls() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    table! {m, t:
        "RestoredCall::cancel" STORE, (_theirs, call) = t.restored() => call.cancel(&mut m.store);
        "RestoredCall::resume" STORE, (_theirs, call) = t.restored() =>
            call.resume(&mut m.store, &null);
        "RestoredCall::resume_async" STORE, (_theirs, call) = t.restored() =>
            block_on(call.resume_async(&mut m.store, &null));
        "RestoredCall::resume_concurrent" STORE, (_theirs, call) = t.restored() =>
            block_on(m.store.run_concurrent(async |all| call.resume_concurrent(all, &null).await));
        "RestoredCall::resume_until_suspended" STORE, (_theirs, call) = t.restored() =>
            call.resume_until_suspended(&mut m.store, &null);
        "RestoredCall::resume_until_suspended_async" STORE, (_theirs, call) = t.restored() =>
            block_on(call.resume_until_suspended_async(&mut m.store, &null));
        "RestoredCall::resume" STORE, (mut mine, call) = m.restored() =>
            call.resume(&mut mine.store, &[t.object()]);
        "RestoredCall::resume_async" STORE, (mut mine, call) = m.restored() =>
            block_on(call.resume_async(&mut mine.store, &[t.object()]));
        "RestoredCall::resume_concurrent" STORE => {
            let ((mut restored, call), theirs) = (m.restored(), t.object());
            let resumed = restored
                .store
                .run_concurrent(async |accessor| call.resume_concurrent(accessor, &[theirs]).await);
            block_on(resumed)
        };
        "RestoredCall::resume_until_suspended" STORE, (mut mine, call) = m.restored() =>
            call.resume_until_suspended(&mut mine.store, &[t.object()]);
        "RestoredCall::resume_until_suspended_async" STORE, (mut mine, call) = m.restored() =>
            block_on(call.resume_until_suspended_async(&mut mine.store, &[t.object()]));
    }
}
