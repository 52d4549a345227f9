//! Where workflows are kept: a [redb](https://docs.rs/redb) database in one file.
//!
//! | table | |
//! | --- | --- |
//! | `workflows` | number to [`Workflow`] |
//! | `images` | number to the image of a workflow at its last call |
//! | `effects` | number and step to what was to be seen of that step |

use crate::workflow::Workflow;
use anyhow::{Context, Result, bail, ensure};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const WORKFLOWS: TableDefinition<u64, &[u8]> = TableDefinition::new("workflows");
const IMAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("images");
const EFFECTS: TableDefinition<(u64, u32), &str> = TableDefinition::new("effects");

/// A database of workflows. Only one process has it at a time.
///
/// A file that is damaged is an error. Where redb panics at one, that is an error too.
pub struct Database {
    path: PathBuf,
    /// There until it is dropped.
    database: Option<redb::Database>,
}

/// A change of one workflow. All of it is there, or nothing.
#[derive(Debug)]
pub struct Change {
    /// Which workflow.
    pub id: u64,
    /// What it is now.
    pub workflow: Workflow,
    /// Its image, if that is another one now.
    pub image: Option<Vec<u8>>,
    /// What is to be seen of its step.
    pub effect: Option<String>,
}

/// What was to be seen of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Of which workflow.
    pub id: u64,
    /// The number of its call.
    pub step: u32,
    /// What it was.
    pub what: String,
}

impl Database {
    /// The database in a file, which is made if there is none.
    /// All of it is read once, and its checksums compared, so that damage is found before anything is done.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let open = || -> Result<redb::Database> {
            let mut database = redb::Database::create(path)?;
            ensure!(
                database.check_integrity()?,
                "the database was damaged, and what is left of it was repaired: steps may be lost"
            );
            let transaction = database.begin_write()?;
            transaction.open_table(WORKFLOWS)?;
            transaction.open_table(IMAGES)?;
            transaction.open_table(EFFECTS)?;
            transaction.commit()?;
            Ok(database)
        };
        let path = path.to_owned();
        let database =
            guarded(&path, open).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Database { path, database: Some(database) })
    }

    /// Does something with the database.
    fn with<R>(&self, work: impl FnOnce(&redb::Database) -> Result<R>) -> Result<R> {
        let database = self.database.as_ref().expect("there until it is dropped");
        guarded(&self.path, || work(database))
    }

    /// Adds workflows with these inputs; answers with the number of the first.
    pub fn start(&self, inputs: impl IntoIterator<Item = i64>) -> Result<u64> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            let first = {
                let mut table = transaction.open_table(WORKFLOWS)?;
                let first = table.last()?.map_or(0, |(id, _)| id.value() + 1);
                for (id, input) in (first..).zip(inputs) {
                    table.insert(id, &encode(&Workflow::new(input))?[..])?;
                }
                first
            };
            transaction.commit()?;
            Ok(first)
        })
    }

    /// Makes changes in one transaction. A step of which something was to be seen cannot be
    /// taken again.
    pub fn commit(&self, changes: &[Change]) -> Result<()> {
        self.with(|database| {
            let transaction = database.begin_write()?;
            {
                let mut workflows = transaction.open_table(WORKFLOWS)?;
                let mut images = transaction.open_table(IMAGES)?;
                let mut effects = transaction.open_table(EFFECTS)?;
                for Change { id, workflow, image, effect } in changes {
                    workflows.insert(id, &encode(workflow)?[..])?;
                    if let Some(image) = image {
                        images.insert(id, &image[..])?;
                    }
                    if workflow.is_over() {
                        images.remove(id)?;
                    }
                    if let Some(effect) = effect {
                        let before = effects.insert((*id, workflow.step), &effect[..])?;
                        ensure!(
                            before.is_none(),
                            "workflow {id} took step {} twice",
                            workflow.step
                        );
                    }
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }

    /// A workflow.
    pub fn workflow(&self, id: u64) -> Result<Workflow> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(WORKFLOWS)?;
            let found = table.get(id)?.with_context(|| format!("there is no workflow {id}"))?;
            decode(found.value())
        })
    }

    /// The image of a workflow at its last call.
    pub fn image(&self, id: u64) -> Result<Vec<u8>> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(IMAGES)?;
            let found = table.get(id)?.with_context(|| format!("workflow {id} has no image"))?;
            Ok(found.value().to_vec())
        })
    }

    /// All workflows.
    pub fn workflows(&self) -> Result<Vec<(u64, Workflow)>> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(WORKFLOWS)?;
            let all = table.iter()?.map(|entry| {
                let (id, workflow) = entry?;
                Ok((id.value(), decode(workflow.value())?))
            });
            all.collect()
        })
    }

    /// All that was to be seen, in the order of workflows and steps.
    pub fn effects(&self) -> Result<Vec<Effect>> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(EFFECTS)?;
            let all = table.iter()?.map(|entry| {
                let (key, what) = entry?;
                let (id, step) = key.value();
                Ok(Effect { id, step, what: what.value().to_owned() })
            });
            all.collect()
        })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Closing a damaged one may panic, too. What it was used for has failed or is done.
        let database = self.database.take();
        let _ = guarded(&self.path, || {
            drop(database);
            Ok(())
        });
    }
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes an error.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Does something that may panic because a database is damaged.
fn guarded<R>(path: &Path, work: impl FnOnce() -> Result<R>) -> Result<R> {
    IS_GUARDED.set(true);
    // After a panic redb refuses what would write half of a change.
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    done.unwrap_or_else(|_| {
        bail!("the database {} is damaged: restore it from a copy", path.display())
    })
}

fn encode(workflow: &Workflow) -> Result<Vec<u8>> {
    Ok(postcard::to_allocvec(workflow)?)
}

fn decode(bytes: &[u8]) -> Result<Workflow> {
    postcard::from_bytes(bytes).context("a workflow in the database is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::State;

    #[test]
    fn a_step_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("db")).unwrap();
        assert_eq!(database.start([5, 6]).unwrap(), 0);
        assert_eq!(database.start([7]).unwrap(), 2);
        let change = || Change {
            id: 1,
            workflow: Workflow { input: 6, step: 1, state: State::Ready(None) },
            image: Some(vec![1, 2]),
            effect: Some("log".into()),
        };
        database.commit(&[change()]).unwrap();
        assert_eq!(database.image(1).unwrap(), [1, 2]);
        let twice = Change { image: Some(vec![3]), ..change() };
        let error = database.commit(&[twice]).unwrap_err();
        assert_eq!(error.to_string(), "workflow 1 took step 1 twice");
        // Nothing of it has happened.
        assert_eq!(database.image(1).unwrap(), [1, 2]);
        assert_eq!(database.effects().unwrap().len(), 1);
        assert_eq!(database.workflow(2).unwrap(), Workflow::new(7));
        assert!(database.workflow(3).is_err());
    }
}
