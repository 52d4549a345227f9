//! Programs whose store is written down again and again while they run.
//!
//! ```text
//!   the run   ----x------x---|--x---|--------x--|---     x at check points, and in the host
//!                 |      |   |               |           | between calls
//!                 |      |   +--> the rest   +--> the run goes on here, and not there
//!                 |      +--> the rest of the call, and the calls after it
//!                 +--> ...
//! ```
//!
//! Snapshots are whole, or have what has changed since the last, or since another
//! ([`chain`]). Some are read into another store, where the program goes on; whichever store it
//! goes on in, the host must see what the model says. Beside the program lies [`ballast`].

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

/// How many snapshots are taken of a program.
const SNAPSHOTS: usize = 150;

/// How many are read again.
const READ: usize = 16;

/// How many that were taken in one call are.
const OF_ONE_CALL: usize = 4;

/// What the host of a store that is written down knows.
pub struct SnapshotState {
    random: Random,
    /// Those of the program.
    instances: Vec<Instance>,
    /// It is elsewhere while it is changed.
    ballast: Option<Ballast>,
    chain: Chain,
    /// Asks for the next snapshot.
    handle: Option<SnapshotHandle>,
    /// How many more are taken.
    left: usize,
    /// Those that are to be read again.
    taken: Vec<TakenSnapshot>,
    /// Whether the host holds what had no name when the handle was made.
    is_out_of_date: bool,
    /// The first thing that went wrong.
    wrong: Option<anyhow::Error>,
}

/// A snapshot, and what the host knew then.
struct TakenSnapshot {
    link: ChainedSnapshot,
    place: String,
    seen: Vec<Seen>,
    sums: Sums,
    chain: Chain,
}

/// What is seen of a program: in the end, and wherever it went on from a snapshot.
pub fn run(program: &Program, compiled: &Compiled, choices: u64) -> Result<Vec<Sight>> {
    let mut session = Session::new(program, compiled, choices)?;
    for number in 0..program.calls.len() {
        session.call(number)?;
        session.between(number)?;
    }
    session.finish()
}

/// A program that runs while it is written down.
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
        let snapshots = SnapshotState {
            random: Random::new(random.next_u64()),
            instances: run.instances.clone(),
            ballast: Some(Ballast::new(&mut store, instance)?),
            chain: Chain::default(),
            handle: None,
            left: SNAPSHOTS,
            taken: Vec::new(),
            is_out_of_date: false,
            wrong: None,
        };
        run.store.data_mut().snapshots = Some(Box::new(snapshots));
        let modules = modules.iter().cloned().chain([ballast]);
        let mut restoring = Restoring::new(engine, modules);
        restoring.functions(&engine::linker(engine)?)?;
        Ok(Session { program, restoring, run, random, sights: Vec::new() })
    }

    /// Makes a call, and goes on from some of the snapshots that were taken meanwhile.
    fn call(&mut self, number: usize) -> Result<()> {
        self.run.listen()?;
        self.run.call(self.program, &self.program.calls[number])?;
        self.run.is_fine()?;
        while let Some(taken) = self.read_all(number)? {
            let (mut run, call) = self.restored(&taken, true)?;
            run.listen()?;
            run.resume(self.program, call)?;
            run.is_fine()?;
            self.run = run;
        }
        Ok(())
    }

    /// Changes some things, and writes the store down between two calls.
    fn between(&mut self, number: usize) -> Result<()> {
        for _ in 0..self.random.below(3) {
            self.run.change()?;
            // Where objects have moved, everything is looked at.
            if self.random.below(6) == 0 {
                self.run.store.gc();
            }
            self.run.write_down()?;
        }
        if let Some(taken) = self.read_all(number)? {
            let (run, call) = self.restored(&taken, true)?;
            ensure!(call.is_none(), "a call is in a snapshot that was taken between calls");
            self.run = run;
        }
        Ok(())
    }

    /// Reads the snapshots that were taken in or after a call, and goes on from each. Returns one
    /// from which the run is to go on.
    fn read_all(&mut self, number: usize) -> Result<Option<TakenSnapshot>> {
        let mut all = std::mem::take(&mut self.run.snapshots()?.taken);
        for taken in &all {
            if self.sights.len() < READ {
                self.read(taken, number).with_context(|| taken.place.clone())?;
            }
        }
        let chosen = self.random.below(2 + 2 * all.len() as u64) as usize;
        Ok(if chosen < all.len() { Some(all.swap_remove(chosen)) } else { None })
    }

    /// Goes on from a snapshot until the program has ended.
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

    /// A store that is read from a snapshot, and the call in it. It is written down in turn, or
    /// not.
    fn restored(
        &mut self,
        taken: &TakenSnapshot,
        goes_on: bool,
    ) -> Result<(Run, Option<RestoredCall>)> {
        let mut random = Random::new(self.random.next_u64());
        let host = Host::after(taken.seen.clone());
        let is_base = random.below(4) != 0;
        let mut restored = taken.link.whole.restore_by(self.restoring.is_base(is_base), host)?;
        let ballast = Some(Ballast::restored(&mut restored, taken.sums.clone())?);
        let numbers = 0..self.run.instances.len();
        let instances = numbers.map(|number| restored.instance(&format!("m{number}")));
        let instances = instances.collect::<Result<Vec<_>>>()?;
        let mut chain = taken.chain.clone();
        chain.begin(taken.link.clone(), &mut random);
        let left = if goes_on { self.run.snapshots()?.left } else { 0 };
        let snapshots = SnapshotState {
            random,
            instances: instances.clone(),
            ballast,
            chain,
            handle: None,
            left,
            taken: Vec::new(),
            is_out_of_date: false,
            wrong: None,
        };
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

    /// Has the next call written down.
    fn listen(&mut self) -> Result<()> {
        let (options, base) = self.snapshots()?.options();
        let handle = self.store.on_snapshot_request(options, move |mut store, snapshot| {
            let host = store.data_mut();
            let noted = host.note(snapshot, &base, "at a check point");
            host.fail(noted);
            host.ask_again();
            Ok(())
        })?;
        let snapshots = self.snapshots()?;
        snapshots.is_out_of_date = false;
        if snapshots.random.below(4) != 0 {
            handle.request();
        }
        snapshots.handle = Some(handle);
        Ok(())
    }

    /// Continues a call that was restored.
    fn resume(&mut self, program: &Program, call: Option<RestoredCall>) -> Result<()> {
        let call = call.context("the call is not in the snapshot")?;
        let results = call.resume(&mut self.store, &[]);
        let results = results.map(|results| results.first().and_then(Val::i64).unwrap_or_default());
        self.end(program, results)
    }

    /// Writes the store down while nothing runs.
    fn write_down(&mut self) -> Result<()> {
        let (options, base) = self.snapshots()?.options();
        let snapshot = self.store.snapshot(&options);
        self.store.data_mut().note(snapshot, &base, "between calls")
    }

    fn change(&mut self) -> Result<()> {
        change(&mut self.store.as_context_mut())
    }

    /// Fails with what went wrong in functions of the host.
    fn is_fine(&mut self) -> Result<()> {
        self.snapshots()?.wrong.take().map_or(Ok(()), Err)
    }

    fn compare_ballast(&mut self) -> Result<()> {
        self.is_fine()?;
        with_ballast(&mut self.store.as_context_mut(), |ballast, store, random| {
            ballast.check(store, random)
        })
    }
}

impl Host {
    fn snapshots(&mut self) -> Result<&mut SnapshotState> {
        self.snapshots.as_deref_mut().context("the store is not written down")
    }

    /// Notes a snapshot, or that there is none where there can be none.
    fn note(&mut self, snapshot: Result<Snapshot>, base: &SnapshotBase, place: &str) -> Result<()> {
        let nested = self.nested > 0;
        let seen = &self.seen;
        let snapshots = self.snapshots.as_deref_mut().context("the store is not written down")?;
        let snapshot = match snapshot {
            Ok(_) if nested => bail!("it is written down in spite of functions of the host"),
            Ok(snapshot) => snapshot,
            Err(error) => return snapshots.may_be_refused(&error, nested),
        };
        let (random, before) = (&mut snapshots.random, snapshots.chain.clone());
        let link = snapshots.chain.add(snapshot, base, random)?;
        // While the ballast is used, it is not the program that runs.
        let Some(ballast) = &snapshots.ballast else { return Ok(()) };
        if snapshots.taken.len() < OF_ONE_CALL && random.below(4) == 0 {
            let (what, number) = (base.name(), seen.len());
            let place = format!("from a snapshot {place}, {what}, when {number} were seen");
            let (sums, seen) = (ballast.sums.clone(), seen.clone());
            snapshots.taken.push(TakenSnapshot { link, place, seen, sums, chain: before });
        }
        Ok(())
    }

    /// Keeps what went wrong.
    fn fail(&mut self, result: Result<()>) {
        if let (Err(error), Some(snapshots)) = (result, &mut self.snapshots) {
            snapshots.wrong.get_or_insert(error);
        }
    }

    /// Has another snapshot taken soon, mostly.
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
    /// What the next snapshot is to have.
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

    /// Fails unless a snapshot may be refused with an error.
    fn may_be_refused(&self, error: &anyhow::Error, nested: bool) -> Result<()> {
        use SnapshotError as E;
        let uses_ballast = self.ballast.is_none();
        match error.downcast_ref() {
            Some(E::Nested(_)) if nested => Ok(()),
            Some(E::Gone { .. } | E::Unnamed(_)) if self.is_out_of_date || uses_ballast => Ok(()),
            Some(E::Resumed(_)) if uses_ballast => Ok(()),
            _ => Err(anyhow!("it cannot be written down: {error:#}")),
        }
    }
}

/// What the host does, some of the times, when a program tells it a number.
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
        1 => write_down(caller),
        2 => {
            caller.data_mut().ask_again();
            Ok(())
        }
        _ => Ok(()),
    };
    caller.data_mut().fail(result);
}

/// Writes the store down in a function of the host.
fn write_down(caller: &mut Caller<'_, Host>) -> Result<()> {
    let snapshots = caller.data_mut().snapshots()?;
    snapshots.left -= 1;
    let (options, base) = snapshots.options();
    let snapshot = caller.snapshot(&options);
    let host = caller.data_mut();
    // Its names are those of now, other than those of the handle.
    let is_out_of_date = std::mem::take(&mut host.snapshots()?.is_out_of_date);
    let noted = host.note(snapshot, &base, "in the host");
    host.snapshots()?.is_out_of_date = is_out_of_date;
    noted
}

/// Changes some of the ballast.
fn change(store: &mut StoreContextMut<'_, Host>) -> Result<()> {
    let changed = with_ballast(store, |ballast, store, random| {
        let mut changed = false;
        for _ in 0..1 + random.below(4) {
            changed |= ballast.change(store, random)?;
        }
        Ok(changed)
    })?;
    store.data_mut().snapshots()?.is_out_of_date |= changed;
    Ok(())
}

/// Uses the ballast, which calls WebAssembly.
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
