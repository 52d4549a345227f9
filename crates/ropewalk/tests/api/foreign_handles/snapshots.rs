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
    vec![
        row("SnapshotOptions::name_bag_stack", STORE, |m, t| {
            let stack = t.bag_stack();
            named(m, |options| options.name_bag_stack("name", &stack))
        }),
        row("SnapshotOptions::name_continuation", STORE, |m, t| {
            let continuation = t.continuation();
            named(m, |options| options.name_continuation("name", &continuation))
        }),
        row("SnapshotOptions::name_fiber", STORE, |m, t| {
            let fiber = t.fiber();
            named(m, |options| options.name_fiber("name", &fiber))
        }),
        row("SnapshotOptions::name_first_class_stack", STORE, |m, t| {
            let stack = t.first_class_stack();
            named(m, |options| options.name_first_class_stack("name", &stack))
        }),
        row("SnapshotOptions::name_func", STORE, |m, t| {
            let run = t.run();
            named(m, |options| options.name_func("name", run))
        }),
        row("SnapshotOptions::name_instance", STORE, |m, t| {
            named(m, |options| options.name_instance("name", t.instance))
        }),
        row("SnapshotOptions::name_reference", STORE, |m, t| {
            let owned = t.pair().own(&mut t.store).unwrap();
            named(m, |options| options.name_reference("name", &owned))
        }),
        row("SnapshotOptions::name_task", STORE, |m, t| {
            let task = t.task();
            named(m, |options| options.name_task("name", &task))
        }),
    ]
}

/// Options that name a function of theirs.
fn naming(theirs: &mut Home) -> SnapshotOptions {
    let mut options = SnapshotOptions::new();
    options.name_func("name", theirs.run());
    options
}

fn snapshots() -> Vec<Row> {
    vec![
        row("Accessor::snapshot", STORE, |m, t| {
            let options = naming(t);
            block_on(m.store.run_concurrent(async |accessor| accessor.snapshot(&options)))
        }),
        row("Caller::snapshot", STORE, |m, t| {
            let options = naming(t);
            let func = Func::wrap(&mut m.store, move |mut caller: Caller<'_, ()>| {
                caller.snapshot(&options).map(drop)
            });
            func.call(&mut m.store, &[], &mut [])
        }),
        row("Store::snapshot", STORE, |m, t| m.store.snapshot(&naming(t))),
        row("Store::on_snapshot_request", STORE, |m, t| {
            let request = m.store.on_snapshot_request(naming(t), |_, taken| taken.map(drop));
            request.unwrap().request();
            m.func("spin").call(&mut m.store, &[], &mut [])
        }),
        // The bytes of snapshots are compared.
        row("SnapshotOptions::since", [Expected::Accepted; 2], |m, t| {
            let theirs = t.snapshot();
            let since = named(m, |options| options.since(&theirs))?;
            since.on(&theirs)?.restore(&m.linker(), std::slice::from_ref(&m.module), ())
        }),
        row("Snapshot::on", [Expected::Snapshot; 2], |m, t| {
            t.memory().write(&mut t.store, 0, b"theirs")?;
            let (mine, theirs) = (m.snapshot(), t.snapshot());
            named(m, |options| options.since(&mine))?.on(&theirs)
        }),
        row("Snapshot::restore", [Expected::Accepted, Expected::Snapshot], |m, t| {
            m.snapshot().restore(&m.linker(), std::slice::from_ref(&t.module), ())
        }),
        row("Snapshot::restore", [Expected::Accepted, Expected::Snapshot], |m, t| {
            m.snapshot().restore(&t.linker(), std::slice::from_ref(&m.module), ())
        }),
        // The snapshot is restored in their engine.
        row("Snapshot::restore_by", [Expected::Accepted; 2], |m, t| {
            let mut restoring = Restoring::new(&t.engine, [t.module.clone()]);
            restoring.functions(&t.linker())?;
            m.snapshot().restore_by(&restoring, ())
        }),
        row("Restoring::new", [Expected::Accepted, Expected::Snapshot], |m, t| {
            let mut restoring = Restoring::new(&m.engine, [t.module.clone()]);
            restoring.functions(&m.linker())?;
            m.snapshot().restore_by(&restoring, ())
        }),
        row("Restoring::functions", ENGINE, |m, t| {
            Restoring::new(&m.engine, []).functions(&t.linker()).map(drop)
        }),
    ]
}

fn calls() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    vec![
        row("RestoredCall::cancel", STORE, |m, t| {
            let (_restored, call) = t.restored();
            call.cancel(&mut m.store)
        }),
        row("RestoredCall::resume", STORE, move |m, t| {
            let (_restored, call) = t.restored();
            call.resume(&mut m.store, &null)
        }),
        row("RestoredCall::resume_async", STORE, move |m, t| {
            let (_restored, call) = t.restored();
            block_on(call.resume_async(&mut m.store, &null))
        }),
        row("RestoredCall::resume_concurrent", STORE, move |m, t| {
            let (_restored, call) = t.restored();
            block_on(m.store.run_concurrent(async |all| call.resume_concurrent(all, &null).await))
        }),
        row("RestoredCall::resume_until_suspended", STORE, move |m, t| {
            let (_restored, call) = t.restored();
            call.resume_until_suspended(&mut m.store, &null)
        }),
        row("RestoredCall::resume_until_suspended_async", STORE, move |m, t| {
            let (_restored, call) = t.restored();
            block_on(call.resume_until_suspended_async(&mut m.store, &null))
        }),
        row("RestoredCall::resume", STORE, |m, t| {
            let (mut restored, call) = m.restored();
            call.resume(&mut restored.store, &[t.object()])
        }),
        row("RestoredCall::resume_async", STORE, |m, t| {
            let (mut restored, call) = m.restored();
            block_on(call.resume_async(&mut restored.store, &[t.object()]))
        }),
        row("RestoredCall::resume_concurrent", STORE, |m, t| {
            let ((mut restored, call), theirs) = (m.restored(), t.object());
            let resumed = restored
                .store
                .run_concurrent(async |accessor| call.resume_concurrent(accessor, &[theirs]).await);
            block_on(resumed)
        }),
        row("RestoredCall::resume_until_suspended", STORE, |m, t| {
            let (mut restored, call) = m.restored();
            call.resume_until_suspended(&mut restored.store, &[t.object()])
        }),
        row("RestoredCall::resume_until_suspended_async", STORE, |m, t| {
            let (mut restored, call) = m.restored();
            block_on(call.resume_until_suspended_async(&mut restored.store, &[t.object()]))
        }),
    ]
}
