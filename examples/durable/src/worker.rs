//! Runs workflows, as far as they come.

use crate::database::{Change, Database};
use crate::guest::Guest;
use crate::outside;
use crate::workflow::{Answer, State, Workflow};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How many workflows take a step in one transaction, at most. Writing to the disk is what
/// takes time.
const TOGETHER: usize = 256;

/// Whoever runs workflows.
pub struct Worker<'a> {
    database: &'a Database,
    guest: &'a Guest,
    /// Where requests go.
    server: SocketAddr,
    /// What questions are answered with; nothing if somebody else does it.
    decision: Option<bool>,
    /// Those that can go on.
    ready: BTreeSet<u64>,
    /// Those that sleep, by the time when they wake.
    sleeping: BTreeSet<(u64, u64)>,
    /// Those that wait for an answer.
    requesting: BTreeMap<u64, Workflow>,
}

/// Milliseconds since 1970. A workflow that sleeps may wake in another process, so that this
/// is the only clock there is.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_millis().try_into().unwrap_or(u64::MAX)
}

impl<'a> Worker<'a> {
    /// Whoever runs the workflows of a database, from where they are.
    pub fn new(
        database: &'a Database,
        guest: &'a Guest,
        server: SocketAddr,
        decision: Option<bool>,
    ) -> Result<Worker<'a>> {
        let (ready, sleeping, requesting) = Default::default();
        let mut worker = Worker { database, guest, server, decision, ready, sleeping, requesting };
        let mut asked = Vec::new();
        for (id, workflow) in database.workflows()? {
            asked.extend(worker.decide(id, &workflow));
            worker.note(id, workflow);
        }
        worker.commit(asked)?;
        Ok(worker)
    }

    /// Runs until nothing can go on, but for workflows that wait for somebody's decision.
    pub fn run(&mut self) -> Result<()> {
        loop {
            self.wake()?;
            if !self.ready.is_empty() {
                self.continue_some()?;
            } else if !self.requesting.is_empty() {
                self.request_some()?;
            } else if let Some(&(until, _)) = self.sleeping.first() {
                std::thread::sleep(Duration::from_millis(until.saturating_sub(now())));
            } else {
                return Ok(());
            }
        }
    }

    /// Those whose time has come can go on.
    fn wake(&mut self) -> Result<()> {
        let now = now();
        let mut changes = Vec::new();
        while let Some(&(until, id)) = self.sleeping.first()
            && until <= now
        {
            self.sleeping.pop_first();
            let answered = self.database.workflow(id)?.answered(Answer::Time(now));
            changes.extend(answered.map(|answered| change(id, answered)));
        }
        self.commit(changes)
    }

    /// Runs some that can go on, each up to its next call.
    fn continue_some(&mut self) -> Result<()> {
        let mut changes = Vec::new();
        for _ in 0..TOGETHER {
            let Some(id) = self.ready.pop_first() else { break };
            let workflow = self.database.workflow(id)?;
            let outcome = match workflow.state {
                State::New => self.guest.begin(workflow.input),
                State::Ready(result) => self.guest.go_on(self.database.image(id)?, result),
                _ => continue,
            };
            let (workflow, image, effect) = workflow.after(outcome, now());
            changes.push(Change { id, workflow, image, effect });
        }
        self.commit(changes)
    }

    /// Sends some requests. If this is the end of the process, they are sent again, with the
    /// same keys.
    fn request_some(&mut self) -> Result<()> {
        let mut changes = Vec::new();
        for _ in 0..TOGETHER {
            let Some((id, workflow)) = self.requesting.pop_first() else { break };
            let State::Requesting(request) = &workflow.state else { continue };
            let key = format!("{id}/{}", workflow.step);
            let status = outside::request(self.server, &key, request)?;
            changes.extend(workflow.answered(Answer::Status(status)).map(|next| change(id, next)));
        }
        self.commit(changes)
    }

    /// Makes changes, and decides at once what is asked by them.
    fn commit(&mut self, mut changes: Vec<Change>) -> Result<()> {
        while !changes.is_empty() {
            self.database.commit(&changes)?;
            let asked =
                changes.iter().filter_map(|change| self.decide(change.id, &change.workflow));
            let asked = asked.collect();
            for change in std::mem::replace(&mut changes, asked) {
                self.note(change.id, change.workflow);
            }
        }
        Ok(())
    }

    /// The decision that a workflow waits for, if it is made here.
    fn decide(&self, id: u64, workflow: &Workflow) -> Option<Change> {
        let answered = workflow.answered(Answer::Decision(self.decision?))?;
        Some(change(id, answered))
    }

    /// Remembers what is to be done with a workflow.
    fn note(&mut self, id: u64, workflow: Workflow) {
        match workflow.state {
            State::New | State::Ready(_) => drop(self.ready.insert(id)),
            State::Sleeping(until) => drop(self.sleeping.insert((until, id))),
            State::Requesting(_) => drop(self.requesting.insert(id, workflow)),
            State::Asking(_) | State::Ended(_) | State::Failed(_) => {}
        }
    }
}

fn change(id: u64, (workflow, effect): (Workflow, Option<String>)) -> Change {
    Change { id, workflow, image: None, effect }
}
