//! Runs a script with snapshots of its store, wherever the store allows them.
//!
//! Snapshots of a call are taken at its safepoints. Some are restored, each into a store of its own,
//! and the call is resumed there: its outcome must be the same. After the call the script continues
//! in a store that is restored from a snapshot.
//!
//! With [`SnapshotMode::Delta`], each snapshot but the first has only the changes since the last one.

use anyhow::{Context, Result, bail, ensure};
use ropewalk::{
    Engine, Exception, Instance, Linker, Module, Snapshot, SnapshotError, SnapshotOptions, Store,
    Trap, Val,
};
use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::spectest;

/// Whether the snapshot at a safepoint is restored: the first ones, then fewer and fewer.
fn is_chosen(number: usize) -> bool {
    number < 3 || number.is_power_of_two() && number <= LAST
}

/// The number of snapshots of a call.
const LAST: usize = 1024;

/// The snapshots of a call to restore.
type CallSnapshots = Arc<Mutex<Vec<Result<Snapshot>>>>;

/// The contents of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotMode {
    /// The whole store.
    Full,
    /// The changes since the last snapshot.
    Delta,
}

/// With delta snapshots, the number of directives after which a script continues in another store.
const DIRECTIVES: usize = 4;

/// Takes and restores snapshots of a script's store.
pub(crate) struct SnapshotDriver {
    engine: Engine,
    /// All compiled modules.
    pub modules: Vec<Module>,
    /// All instances to which the script has handles.
    pub instances: Vec<Instance>,
    host_functions: Linker<()>,
    /// For delta snapshots, the last snapshot of the store, merged with its base.
    last: Option<Arc<Mutex<Option<Snapshot>>>>,
    /// The number of directives so far.
    directives: usize,
}

impl SnapshotDriver {
    pub fn new(engine: &Engine, mode: SnapshotMode) -> Result<SnapshotDriver> {
        let mut host_functions = Linker::new(engine);
        spectest::functions(&mut host_functions)?;
        let (modules, instances) = (Vec::new(), Vec::new());
        let last = (mode == SnapshotMode::Delta).then(Arc::default);
        let (engine, directives) = (engine.clone(), 0);
        Ok(SnapshotDriver { engine, modules, instances, host_functions, last, directives })
    }

    fn restoring(&self) -> Result<ropewalk::Restoring<()>> {
        let mut restoring = ropewalk::Restoring::new(&self.engine, self.modules.clone());
        restoring
            .functions(&self.host_functions)?
            .read_host_values(|bytes| Ok(Box::new(u32::from_le_bytes(bytes.try_into()?))));
        Ok(restoring)
    }

    fn options(&self) -> SnapshotOptions {
        let mut options = SnapshotOptions::new();
        options.write_host_values(|value: &(dyn Any + Send + Sync)| {
            Ok(value
                .downcast_ref::<u32>()
                .context("a host value of another type")?
                .to_le_bytes()
                .to_vec())
        });
        if self.last.is_some() {
            options.since_last();
        }
        options
    }

    /// Makes a call with snapshots, and compares its outcome with that of the restored calls.
    pub fn call(
        &self,
        store: &mut Store<()>,
        call: impl FnOnce(&mut Store<()>) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let taken = CallSnapshots::default();
        let handle: Arc<Mutex<Option<ropewalk::SnapshotHandle>>> = Arc::default();
        let (list, again, last) = (taken.clone(), handle.clone(), self.last.clone());
        let mut number = 0;
        let hook = store.on_snapshot_request(self.options(), move |_, snapshot| {
            let snapshot = snapshot.and_then(|snapshot| merge(&last, snapshot));
            if is_chosen(number) {
                list.lock().expect("no panic holds the lock").push(snapshot);
            }
            number += 1;
            if number <= LAST
                && let Some(handle) = &*again.lock().expect("no panic holds the lock")
            {
                handle.request();
            }
            Ok(())
        })?;
        hook.request();
        *handle.lock().expect("no panic holds the lock") = Some(hook);
        let result = call(store);
        let expected = outcome(&result);
        for snapshot in std::mem::take(&mut *taken.lock().expect("no panic holds the lock")) {
            let Some(snapshot) = unless_refused(snapshot)? else { continue };
            let mut restored = snapshot.restore_by(&self.restoring()?, ())?;
            let call = restored.calls.pop().context("the call is not in the snapshot")?;
            let found = outcome(&call.resume(&mut restored.store, &[]));
            ensure!(
                found == expected,
                "restored from a snapshot: expected {expected}, found {found}"
            );
        }
        result
    }

    /// Restores the store from a new snapshot. Returns the restored store and the instances of the
    /// old one, or `None` if the script continues in the old store.
    pub fn replace(&mut self, store: &mut Store<()>) -> Result<Option<(Store<()>, Vec<Instance>)>> {
        let mut options = self.options();
        for (number, instance) in self.instances.iter().enumerate() {
            options.name_instance(&number.to_string(), *instance);
        }
        let snapshot = store.snapshot(&options);
        let snapshot = snapshot.and_then(|snapshot| merge(&self.last, snapshot));
        let Some(snapshot) = unless_refused(snapshot)? else { return Ok(None) };
        let restored = snapshot.restore_by(&self.restoring()?, ())?;
        self.directives += 1;
        if self.last.is_some() && !self.directives.is_multiple_of(DIRECTIVES) {
            return Ok(None);
        }
        let numbers = 0..self.instances.len();
        let instances = numbers.map(|number| restored.instance(&number.to_string()));
        let instances = instances.collect::<Result<Vec<Instance>>>()?;
        let old = std::mem::replace(&mut self.instances, instances);
        Ok(Some((restored.store, old)))
    }
}

/// Merges a snapshot with the last one, which it replaces.
fn merge(last: &Option<Arc<Mutex<Option<Snapshot>>>>, snapshot: Snapshot) -> Result<Snapshot> {
    let Some(last) = last else { return Ok(snapshot) };
    let mut last = last.lock().expect("no panic holds the lock");
    let merged = match (&*last, snapshot.is_based()) {
        (Some(base), true) => snapshot.on(base)?,
        _ => snapshot,
    };
    *last = Some(merged.clone());
    Ok(merged)
}

/// The snapshot, or `None` if the store has something that snapshots do not support.
fn unless_refused(snapshot: Result<Snapshot>) -> Result<Option<Snapshot>> {
    match snapshot {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(error) => match error.downcast_ref() {
            Some(SnapshotError::HostFunction | SnapshotError::ForeignType) => Ok(None),
            _ => bail!("the snapshot failed: {error:#}"),
        },
    }
}

/// The outcome of a call, as far as it is the same in another store.
fn outcome(result: &Result<Vec<Val>>) -> String {
    match result {
        Ok(values) => {
            let values: Vec<String> = values.iter().map(value).collect();
            values.join(" ")
        }
        Err(error) => match (error.downcast_ref::<Trap>(), error.downcast_ref::<Exception>()) {
            (Some(trap), _) => format!("trap {:?}", trap.code()),
            (_, Some(_)) => "an exception".to_string(),
            _ => error.to_string(),
        },
    }
}

fn value(value: &Val) -> String {
    match value {
        Val::I32(_) | Val::I64(_) | Val::F32(_) | Val::F64(_) | Val::V128(_) => {
            format!("{value:?}")
        }
        reference if reference.is_null() => "null".to_string(),
        _ => "a reference".to_string(),
    }
}
