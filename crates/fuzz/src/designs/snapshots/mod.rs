//! Runs programs with snapshots of their store.
//!
//! ```text
//!   the run   ----x------x---|--x---|--------x--|---     x at safepoints, and in the host
//!                 |      |   |               |           | between calls
//!                 |      |   +--> the rest   +--> the run continues here instead
//!                 |      +--> the rest of the call, and the calls after it
//!                 +--> ...
//! ```
//!
//! Snapshots are full, or deltas to the last one or to another one ([`chain`]). Some are restored
//! to another store, in which the program continues. In whichever store it runs, the host must see
//! what the model predicts. The store also has [`ballast`].

mod ballast;
mod chain;

use super::engine::{self, Compiled, Host, Run, Sight};
use super::model::Seen;
use super::program::Program;
use crate::seeds::Random;
use anyhow::{Context, Result, anyhow, bail, ensure};
use ballast::{Ballast, Sums};
use chain::{Chain, ChainedSnapshot, SnapshotBase};
use ropewalk::{
    AsContextMut, Caller, Instance, Linker, Module, RestoredCall, Restoring, Snapshot,
    SnapshotError, SnapshotHandle, SnapshotOptions, StoreContextMut, Val,
};

/// The number of snapshots of a program.
const SNAPSHOTS: usize = 150;

/// The number of snapshots that are restored.
const READ: usize = 16;

/// The maximum number of restored snapshots of one call.
const PER_CALL: usize = 4;

/// The host's state for snapshots of a store.
pub struct SnapshotState {
    random: Random,
    /// The instances of the program.
    instances: Vec<Instance>,
    /// `None` while it is in use.
    ballast: Option<Ballast>,
    chain: Chain,
    /// Requests the next snapshot.
    handle: Option<SnapshotHandle>,
    /// The number of remaining snapshots.
    left: usize,
    /// The snapshots to restore.
    taken: Vec<TakenSnapshot>,
    /// Whether the host's references have changed since the handle's options named them.
    is_stale: bool,
    /// The first problem.
    wrong: Option<anyhow::Error>,
}

/// A snapshot, and the host's state at that time.
struct TakenSnapshot {
    link: ChainedSnapshot,
    place: String,
    seen: Vec<Seen>,
    sums: Sums,
    chain: Chain,
}

/// Runs a program, and resumes it from some of its snapshots. Returns what the host saw in each
/// run.
pub fn run(program: &Program, compiled: &Compiled, choices: u64) -> Result<Vec<Sight>> {
    let mut session = Session::new(program, compiled, choices)?;
    for number in 0..program.calls.len() {
        session.call(number)?;
        session.between(number)?;
    }
    session.finish()
}

/// A run of a program with snapshots.
struct Session<'a> {
    program: &'a Program,
    restoring: Restoring<Host>,
    run: Run,
    random: Random,
    sights: Vec<Sight>,
}

impl<'a> Session<'a> {
    fn new(program: &'a Program, compiled: &Compiled, choices: u64) -> Result<Session<'a>> {
        let Compiled { engine, modules } = compiled;
        let mut random = Random::new(choices);
        let ballast = Module::new(engine, ballast::SOURCE)?;
        let mut run = Run::new(compiled, program)?;
        let mut store = run.store.as_context_mut();
        let instance = Linker::new(engine).instantiate(&mut store, &ballast)?;
        let ballast_of_run = Ballast::new(&mut store, instance)?;
        let snapshots = SnapshotState::new(&mut random, run.instances.clone(), ballast_of_run);
        run.store.data_mut().snapshots = Some(Box::new(snapshots));
        let modules = modules.iter().cloned().chain([ballast]);
        let mut restoring = Restoring::new(engine, modules);
        restoring.functions(&engine::linker(engine)?)?;
        Ok(Session { program, restoring, run, random, sights: Vec::new() })
    }

    /// Makes a call, and resumes it from some of its snapshots.
    fn call(&mut self, number: usize) -> Result<()> {
        self.run.listen()?;
        self.run.call(self.program, &self.program.calls[number])?;
        self.run.take_error()?;
        while let Some(taken) = self.restore_all(number)? {
            let (mut run, call) = self.restored(&taken, true)?;
            run.listen()?;
            run.resume(self.program, call)?;
            run.take_error()?;
            self.run = run;
        }
        Ok(())
    }

    /// Makes changes and takes snapshots between two calls.
    fn between(&mut self, number: usize) -> Result<()> {
        for _ in 0..self.random.below(3) {
            self.run.change()?;
            // Objects that moved must be written again.
            if self.random.below(6) == 0 {
                self.run.store.gc();
            }
            self.run.take_snapshot()?;
        }
        if let Some(taken) = self.restore_all(number)? {
            let (run, call) = self.restored(&taken, true)?;
            ensure!(call.is_none(), "a call is in a snapshot that was taken between calls");
            self.run = run;
        }
        Ok(())
    }

    /// Restores the snapshots of a call, and finishes the program from each. May return one in
    /// which the run should continue.
    fn restore_all(&mut self, number: usize) -> Result<Option<TakenSnapshot>> {
        let mut all = std::mem::take(&mut self.run.snapshots()?.taken);
        for taken in &all {
            if self.sights.len() < READ {
                self.read(taken, number).with_context(|| taken.place.clone())?;
            }
        }
        let chosen = self.random.below(2 + 2 * all.len() as u64) as usize;
        Ok(if chosen < all.len() { Some(all.swap_remove(chosen)) } else { None })
    }

    /// Finishes the program from a snapshot.
    fn read(&mut self, taken: &TakenSnapshot, number: usize) -> Result<()> {
        let (mut run, call) = self.restored(taken, false)?;
        if call.is_some() {
            run.resume(self.program, call)?;
        }
        for call in &self.program.calls[number + 1..] {
            run.call(self.program, call)?;
        }
        run.compare_ballast()?;
        self.sights.push((taken.place.clone(), run.into_seen()));
        Ok(())
    }

    /// Restores a store, and the call in it, from a snapshot. The store may take further snapshots.
    fn restored(
        &mut self,
        taken: &TakenSnapshot,
        continues: bool,
    ) -> Result<(Run, Option<RestoredCall>)> {
        let host = Host::after(taken.seen.clone());
        let is_base = self.random.below(4) != 0;
        let mut restored = taken.link.whole.restore_by(self.restoring.is_base(is_base), host)?;
        let ballast = Ballast::restored(&mut restored, taken.sums.clone())?;
        let numbers = 0..self.run.instances.len();
        let instances = numbers.map(|number| restored.instance(&format!("m{number}")));
        let instances = instances.collect::<Result<Vec<_>>>()?;
        let mut snapshots = SnapshotState::new(&mut self.random, instances.clone(), ballast);
        snapshots.chain = taken.chain.clone();
        snapshots.chain.begin(taken.link.clone(), &mut snapshots.random);
        snapshots.left = if continues { self.run.snapshots()?.left } else { 0 };
        restored.store.data_mut().snapshots = Some(Box::new(snapshots));
        let mut calls = restored.calls;
        let call = calls.pop();
        ensure!(calls.is_empty(), "there are two calls");
        Ok((Run::of(restored.store, instances, self.program)?, call))
    }

    fn finish(mut self) -> Result<Vec<Sight>> {
        self.run.compare_ballast()?;
        self.sights.push(("the run".to_string(), self.run.into_seen()));
        Ok(self.sights)
    }
}

impl Run {
    fn snapshots(&mut self) -> Result<&mut SnapshotState> {
        self.store.data_mut().snapshots()
    }

    /// Requests snapshots of the next call.
    fn listen(&mut self) -> Result<()> {
        let (options, base) = self.snapshots()?.options();
        let handle = self.store.on_snapshot_request(options, move |mut store, snapshot| {
            let host = store.data_mut();
            let noted = host.note(snapshot, &base, "at a safepoint");
            host.fail(noted);
            host.ask_again();
            Ok(())
        })?;
        let snapshots = self.snapshots()?;
        snapshots.is_stale = false;
        if snapshots.random.below(4) != 0 {
            handle.request();
        }
        snapshots.handle = Some(handle);
        Ok(())
    }

    /// Resumes a restored call.
    fn resume(&mut self, program: &Program, call: Option<RestoredCall>) -> Result<()> {
        let call = call.context("the call is not in the snapshot")?;
        let results = call.resume(&mut self.store, &[]);
        let results = results.map(|results| results.first().and_then(Val::i64).unwrap_or_default());
        self.end(program, results)
    }

    /// Takes a snapshot while nothing runs.
    fn take_snapshot(&mut self) -> Result<()> {
        let (options, base) = self.snapshots()?.options();
        let snapshot = self.store.snapshot(&options);
        self.store.data_mut().note(snapshot, &base, "between calls")
    }

    fn change(&mut self) -> Result<()> {
        change(&mut self.store.as_context_mut())
    }

    /// Returns the problem that a host function found, if any.
    fn take_error(&mut self) -> Result<()> {
        self.snapshots()?.wrong.take().map_or(Ok(()), Err)
    }

    fn compare_ballast(&mut self) -> Result<()> {
        self.take_error()?;
        with_ballast(&mut self.store.as_context_mut(), |ballast, store, random| {
            ballast.check(store, random)
        })
    }
}

impl Host {
    fn snapshots(&mut self) -> Result<&mut SnapshotState> {
        self.snapshots.as_deref_mut().context("the store has no snapshots")
    }

    /// Records a snapshot, or checks that it had a reason to fail.
    fn note(&mut self, snapshot: Result<Snapshot>, base: &SnapshotBase, place: &str) -> Result<()> {
        let nested = self.nested > 0;
        let seen = &self.seen;
        let snapshots = self.snapshots.as_deref_mut().context("the store has no snapshots")?;
        let snapshot = match snapshot {
            Ok(_) if nested => bail!("the snapshot ignores nested calls of the host"),
            Ok(snapshot) => snapshot,
            Err(error) => return snapshots.check_failure(&error, nested),
        };
        let (random, before) = (&mut snapshots.random, snapshots.chain.clone());
        let link = snapshots.chain.add(snapshot, base, random)?;
        // While the ballast is in use, the program does not run.
        let Some(ballast) = &snapshots.ballast else { return Ok(()) };
        if snapshots.taken.len() < PER_CALL && random.below(4) == 0 {
            let (what, number) = (base.name(), seen.len());
            let place = format!("from a snapshot {place}, {what}, when {number} were seen");
            let (sums, seen) = (ballast.sums.clone(), seen.clone());
            snapshots.taken.push(TakenSnapshot { link, place, seen, sums, chain: before });
        }
        Ok(())
    }

    /// Records a problem.
    fn fail(&mut self, result: Result<()>) {
        if let (Err(error), Some(snapshots)) = (result, &mut self.snapshots) {
            snapshots.wrong.get_or_insert(error);
        }
    }

    /// Mostly requests another snapshot.
    fn ask_again(&mut self) {
        let Some(snapshots) = &mut self.snapshots else { return };
        snapshots.left = snapshots.left.saturating_sub(1);
        if snapshots.left > 0
            && snapshots.random.below(16) != 0
            && let Some(handle) = &snapshots.handle
        {
            handle.request();
        }
    }
}

impl SnapshotState {
    fn new(random: &mut Random, instances: Vec<Instance>, ballast: Ballast) -> SnapshotState {
        SnapshotState {
            random: Random::new(random.next_u64()),
            instances,
            ballast: Some(ballast),
            chain: Chain::default(),
            handle: None,
            left: SNAPSHOTS,
            taken: Vec::new(),
            is_stale: false,
            wrong: None,
        }
    }

    /// The options of the next snapshot.
    fn options(&mut self) -> (SnapshotOptions, SnapshotBase) {
        let base = self.chain.base(&mut self.random);
        let mut options = SnapshotOptions::new();
        options.is_base(self.random.below(8) != 0);
        base.apply(&mut options, &mut self.random);
        for (number, instance) in self.instances.iter().enumerate() {
            options.name_instance(&format!("m{number}"), *instance);
        }
        if let Some(ballast) = &self.ballast {
            ballast.name(&mut options);
        }
        (options, base)
    }

    /// Returns an error unless the snapshot had a reason to fail.
    fn check_failure(&self, error: &anyhow::Error, nested: bool) -> Result<()> {
        use SnapshotError as E;
        let uses_ballast = self.ballast.is_none();
        match error.downcast_ref() {
            Some(E::Nested(_)) if nested => Ok(()),
            Some(E::Gone { .. } | E::Unnamed(_)) if self.is_stale || uses_ballast => Ok(()),
            Some(E::Resumed(_)) if uses_ballast => Ok(()),
            _ => Err(anyhow!("the snapshot failed: {error:#}")),
        }
    }
}

/// Called when a program passes a number to the host: sometimes takes a snapshot or changes the
/// ballast.
pub fn logged(caller: &mut Caller<'_, Host>) {
    let Some(snapshots) = &mut caller.data_mut().snapshots else { return };
    if snapshots.left == 0 {
        return;
    }
    let result = match snapshots.random.below(8) {
        0 => {
            caller.data_mut().nested += 1;
            let result = change(&mut caller.as_context_mut());
            caller.data_mut().nested -= 1;
            result
        }
        1 => take_snapshot(caller),
        2 => {
            caller.data_mut().ask_again();
            Ok(())
        }
        _ => Ok(()),
    };
    caller.data_mut().fail(result);
}

/// Takes a snapshot in a host function.
fn take_snapshot(caller: &mut Caller<'_, Host>) -> Result<()> {
    let snapshots = caller.data_mut().snapshots()?;
    snapshots.left -= 1;
    let (options, base) = snapshots.options();
    let snapshot = caller.snapshot(&options);
    let host = caller.data_mut();
    // This snapshot has current names, unlike the handle.
    let is_stale = std::mem::take(&mut host.snapshots()?.is_stale);
    let noted = host.note(snapshot, &base, "in the host");
    host.snapshots()?.is_stale = is_stale;
    noted
}

fn change(store: &mut StoreContextMut<'_, Host>) -> Result<()> {
    let changed = with_ballast(store, |ballast, store, random| {
        let mut changed = false;
        for _ in 0..1 + random.below(4) {
            changed |= ballast.change(store, random)?;
        }
        Ok(changed)
    })?;
    store.data_mut().snapshots()?.is_stale |= changed;
    Ok(())
}

fn with_ballast<R>(
    store: &mut StoreContextMut<'_, Host>,
    using: impl FnOnce(&mut Ballast, &mut StoreContextMut<'_, Host>, &mut Random) -> Result<R>,
) -> Result<R> {
    let snapshots = store.data_mut().snapshots()?;
    let mut ballast = snapshots.ballast.take().context("no ballast")?;
    let mut random = Random::new(snapshots.random.next_u64());
    let result = using(&mut ballast, store, &mut random);
    store.data_mut().snapshots()?.ballast = Some(ballast);
    result
}
