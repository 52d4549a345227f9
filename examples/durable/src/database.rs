//! The database of workflows: a [redb](https://docs.rs/redb) database in one file.
//!
//! | table | |
//! | --- | --- |
//! | `workflows` | number to [`Workflow`] |
//! | `images` | number to the snapshot of a workflow at its last call |
//! | `effects` | number and step to the effect of that step |

use crate::workflow::Workflow;
use anyhow::{Context, Result, bail, ensure};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const WORKFLOWS: TableDefinition<u64, &[u8]> = TableDefinition::new("workflows");
const IMAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("images");
const EFFECTS: TableDefinition<(u64, u32), &str> = TableDefinition::new("effects");

/// A database of workflows. Only one process at a time can open it.
///
/// A damaged file is an error, even if redb panics.
pub struct Database {
    path: PathBuf,
    /// None only while it is dropped.
    database: Option<redb::Database>,
}

/// A change of one workflow, which is committed as a whole or not at all.
#[derive(Debug)]
pub struct Change {
    /// The number of the workflow.
    pub id: u64,
    /// Its new state.
    pub workflow: Workflow,
    /// Its new snapshot, if it has changed.
    pub image: Option<Vec<u8>>,
    /// The visible effect of the step.
    pub effect: Option<String>,
}

/// The visible effect of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The number of the workflow.
    pub id: u64,
    /// The number of the call.
    pub step: u32,
    /// A description.
    pub what: String,
}

impl Database {
    /// Opens a database, or creates it. Verifies all checksums, so that damage is found before any
    /// workflow runs.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let open = || -> Result<redb::Database> {
            let mut database = redb::Database::create(path)?;
            ensure!(
                database.check_integrity()?,
                "the database was damaged and has been repaired: steps may be lost"
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

    fn with<R>(&self, work: impl FnOnce(&redb::Database) -> Result<R>) -> Result<R> {
        let database = self.database.as_ref().expect("the database is not dropped");
        guarded(&self.path, || work(database))
    }

    /// Adds workflows with these inputs; returns the number of the first.
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

    /// Commits changes in one transaction. Fails if a step with an effect is repeated.
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

    /// The snapshot of a workflow at its last call.
    pub fn image(&self, id: u64) -> Result<Vec<u8>> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(IMAGES)?;
            let found = table.get(id)?.with_context(|| format!("workflow {id} has no snapshot"))?;
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

    /// All effects, in the order of workflows and steps.
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
        // Closing a damaged database may panic; its operations have already failed or finished.
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

/// Runs `work`, which may panic if the database is damaged.
fn guarded<R>(path: &Path, work: impl FnOnce() -> Result<R>) -> Result<R> {
    IS_GUARDED.set(true);
    // After a panic redb refuses further writes of the transaction.
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    done.unwrap_or_else(|_| {
        bail!("the database {} is damaged: restore it from a backup", path.display())
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
    fn a_step_cannot_be_repeated() {
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
        // The transaction was not committed.
        assert_eq!(database.image(1).unwrap(), [1, 2]);
        assert_eq!(database.effects().unwrap().len(), 1);
        assert_eq!(database.workflow(2).unwrap(), Workflow::new(7));
        assert!(database.workflow(3).is_err());
    }
}
