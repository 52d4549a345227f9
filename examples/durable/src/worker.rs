//! Runs workflows until all wait for decisions.

use crate::database::{Change, Database};
use crate::guest::Guest;
use crate::requests;
use crate::workflow::{Answer, State, Workflow};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum number of steps in a transaction, since committing to the disk is slow.
const BATCH: usize = 256;

/// Runs the workflows of a database.
pub struct Worker<'a> {
    database: &'a Database,
    guest: &'a Guest,
    /// The server for requests.
    server: SocketAddr,
    /// The answer to all questions; none if they are answered elsewhere.
    decision: Option<bool>,
    /// Workflows that can continue.
    ready: BTreeSet<u64>,
    /// Sleeping workflows, by the time when they wake.
    sleeping: BTreeSet<(u64, u64)>,
    /// Workflows that wait for a response.
    requesting: BTreeMap<u64, Workflow>,
}

/// The wall clock in milliseconds since 1970. A monotonic clock would not work across processes.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    elapsed.as_millis().try_into().unwrap_or(u64::MAX)
}

impl<'a> Worker<'a> {
    /// A worker for all workflows of a database in their present states.
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
            worker.schedule(id, workflow);
        }
        worker.commit(asked)?;
        Ok(worker)
    }

    /// Runs until all workflows have ended or wait for a decision.
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

    /// Wakes the workflows whose time has come.
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

    /// Runs a batch of workflows, each up to its next call.
    fn continue_some(&mut self) -> Result<()> {
        let mut changes = Vec::new();
        for _ in 0..BATCH {
            let Some(id) = self.ready.pop_first() else { break };
            let workflow = self.database.workflow(id)?;
            let outcome = match workflow.state {
                State::New => self.guest.begin(workflow.input),
                State::Ready(result) => self.guest.resume(self.database.image(id)?, result),
                _ => continue,
            };
            let (workflow, image, effect) = workflow.after(outcome, now());
            changes.push(Change { id, workflow, image, effect });
        }
        self.commit(changes)
    }

    /// Sends a batch of requests. If the process is killed, they are sent again with the same
    /// keys.
    fn request_some(&mut self) -> Result<()> {
        let mut changes = Vec::new();
        for _ in 0..BATCH {
            let Some((id, workflow)) = self.requesting.pop_first() else { break };
            let State::Requesting(request) = &workflow.state else { continue };
            let key = format!("{id}/{}", workflow.step);
            let status = requests::request(self.server, &key, request)?;
            changes.extend(workflow.answered(Answer::Status(status)).map(|next| change(id, next)));
        }
        self.commit(changes)
    }

    /// Commits changes, and decides the questions that they ask.
    fn commit(&mut self, mut changes: Vec<Change>) -> Result<()> {
        while !changes.is_empty() {
            self.database.commit(&changes)?;
            let asked =
                changes.iter().filter_map(|change| self.decide(change.id, &change.workflow));
            let asked = asked.collect();
            for change in std::mem::replace(&mut changes, asked) {
                self.schedule(change.id, change.workflow);
            }
        }
        Ok(())
    }

    /// The decision that a workflow waits for, if questions are answered here.
    fn decide(&self, id: u64, workflow: &Workflow) -> Option<Change> {
        let answered = workflow.answered(Answer::Decision(self.decision?))?;
        Some(change(id, answered))
    }

    /// Schedules the next action for a workflow.
    fn schedule(&mut self, id: u64, workflow: Workflow) {
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
