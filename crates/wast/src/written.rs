//! Scripts whose stores are written down and read again, wherever they can be.
//!
//! A call is written down at its check points. Some of these snapshots are then read each
//! into a store of its own, and the call goes on there: it must end as it has. After the call
//! the whole store is written down, and the script goes on with one that was read from that.
//!
//! Every snapshot but the first of a store has only what has changed since the one before, if the
//! script is run so.

use anyhow::{Context, Result, bail, ensure};
use ropewalk::{
    Engine, Exception, Instance, Linker, Module, Snapshot, SnapshotError, SnapshotOptions, Store,
    Trap, Val,
};
use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::spectest;

/// At which of its check points a call is written down: the first ones, and then less and less
/// often.
fn is_chosen(number: usize) -> bool {
    number < 3 || number.is_power_of_two() && number <= LAST
}

/// At how many check points a call stops.
const LAST: usize = 1024;

/// The snapshots of a call.
type Taken = Arc<Mutex<Vec<Result<Snapshot>>>>;

/// What is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritesDown {
    /// Stores.
    Stores,
    /// What has changed since the last time.
    Changes,
}

/// After how many directives a script goes on with another store where changes are written.
const DIRECTIVES: usize = 4;

/// What is needed to read stores of a script again.
pub(crate) struct Written {
    engine: Engine,
    /// All modules that were compiled.
    pub modules: Vec<Module>,
    /// All instances that there are handles of.
    pub instances: Vec<Instance>,
    /// The functions of the host.
    functions: Linker<()>,
    /// The last snapshot of the store, made whole, if the next is to have what has changed since.
    last: Option<Arc<Mutex<Option<Snapshot>>>>,
    /// How many directives there were.
    directives: usize,
}

impl Written {
    /// Nothing is there yet.
    pub fn new(engine: &Engine, what: WritesDown) -> Result<Written> {
        let mut functions = Linker::new(engine);
        spectest::functions(&mut functions)?;
        let (modules, instances) = (Vec::new(), Vec::new());
        let last = (what == WritesDown::Changes).then(Arc::default);
        let (engine, directives) = (engine.clone(), 0);
        Ok(Written { engine, modules, instances, functions, last, directives })
    }

    fn restoring(&self) -> Result<ropewalk::Restoring<()>> {
        let mut restoring = ropewalk::Restoring::new(&self.engine, self.modules.clone());
        restoring
            .functions(&self.functions)?
            .read_host_values(|bytes| Ok(Box::new(u32::from_le_bytes(bytes.try_into()?))));
        Ok(restoring)
    }

    fn options(&self) -> SnapshotOptions {
        let mut options = SnapshotOptions::new();
        options.write_host_values(|value: &(dyn Any + Send + Sync)| {
            Ok(value.downcast_ref::<u32>().context("another value")?.to_le_bytes().to_vec())
        });
        if self.last.is_some() {
            options.since_last();
        }
        options
    }

    /// Makes a call, which is written down meanwhile, and compares how it goes on elsewhere.
    pub fn call(
        &self,
        store: &mut Store<()>,
        call: impl FnOnce(&mut Store<()>) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let taken = Taken::default();
        let handle: Arc<Mutex<Option<ropewalk::SnapshotHandle>>> = Arc::default();
        let (list, again, last) = (taken.clone(), handle.clone(), self.last.clone());
        let mut number = 0;
        let hook = store.on_snapshot_request(self.options(), move |_, snapshot| {
            let snapshot = snapshot.and_then(|snapshot| made_whole(&last, snapshot));
            if is_chosen(number) {
                list.lock().expect("nobody panics").push(snapshot);
            }
            number += 1;
            if number <= LAST
                && let Some(handle) = &*again.lock().expect("nobody panics")
            {
                handle.request();
            }
            Ok(())
        })?;
        hook.request();
        *handle.lock().expect("nobody panics") = Some(hook);
        let result = call(store);
        let expected = outcome(&result);
        for snapshot in std::mem::take(&mut *taken.lock().expect("nobody panics")) {
            let Some(snapshot) = unless_refused(snapshot)? else { continue };
            let mut restored = snapshot.restore_by(&self.restoring()?, ())?;
            let call = restored.calls.pop().context("the call is not in the snapshot")?;
            let found = outcome(&call.resume(&mut restored.store, &[]));
            ensure!(found == expected, "written down it ends with {found}, not with {expected}");
        }
        result
    }

    /// Writes a store down and reads it again. Returns another store with the same instances,
    /// unless it cannot be written down.
    pub fn replace(&mut self, store: &mut Store<()>) -> Result<Option<(Store<()>, Vec<Instance>)>> {
        let mut options = self.options();
        for (number, instance) in self.instances.iter().enumerate() {
            options.name_instance(&number.to_string(), *instance);
        }
        let snapshot = store.snapshot(&options);
        let snapshot = snapshot.and_then(|snapshot| made_whole(&self.last, snapshot));
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

/// A snapshot with what it takes from the last one, which it is from now on.
fn made_whole(last: &Option<Arc<Mutex<Option<Snapshot>>>>, snapshot: Snapshot) -> Result<Snapshot> {
    let Some(last) = last else { return Ok(snapshot) };
    let mut last = last.lock().expect("nobody panics");
    let whole = match (&*last, snapshot.is_based()) {
        (Some(base), true) => snapshot.on(base)?,
        _ => snapshot,
    };
    *last = Some(whole.clone());
    Ok(whole)
}

/// A snapshot, unless there is something that cannot be written down.
fn unless_refused(snapshot: Result<Snapshot>) -> Result<Option<Snapshot>> {
    match snapshot {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(error) => match error.downcast_ref() {
            Some(SnapshotError::HostFunction | SnapshotError::ForeignType) => Ok(None),
            _ => bail!("it cannot be written down: {error:#}"),
        },
    }
}

/// How a call has ended, as far as another store can end it in the same way.
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
