//! Where workflows are kept: a [redb](https://docs.rs/redb) database in one file.
//!
//! | table | |
//! | --- | --- |
//! | `workflows` | number to [`Workflow`] |
//! | `images` | number to the image of a workflow at its last call |
//! | `effects` | number and step to what was to be seen of that step |

use crate::workflow::Workflow;
use anyhow::{Context, Result, ensure};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

const WORKFLOWS: TableDefinition<u64, &[u8]> = TableDefinition::new("workflows");
const IMAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("images");
const EFFECTS: TableDefinition<(u64, u32), &str> = TableDefinition::new("effects");

/// A database of workflows. Only one process has it at a time.
pub struct Database(redb::Database);

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
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let open = || -> Result<redb::Database> {
            let database = redb::Database::create(path)?;
            let transaction = database.begin_write()?;
            transaction.open_table(WORKFLOWS)?;
            transaction.open_table(IMAGES)?;
            transaction.open_table(EFFECTS)?;
            transaction.commit()?;
            Ok(database)
        };
        Ok(Database(open().with_context(|| path.display().to_string())?))
    }

    /// Adds workflows with these inputs; answers with the number of the first.
    pub fn start(&self, inputs: impl IntoIterator<Item = i64>) -> Result<u64> {
        let transaction = self.0.begin_write()?;
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
    }

    /// Makes changes in one transaction. A step of which something was to be seen cannot be
    /// taken again.
    pub fn commit(&self, changes: &[Change]) -> Result<()> {
        let transaction = self.0.begin_write()?;
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
                    ensure!(before.is_none(), "workflow {id} took step {} twice", workflow.step);
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// A workflow.
    pub fn workflow(&self, id: u64) -> Result<Workflow> {
        let table = self.0.begin_read()?.open_table(WORKFLOWS)?;
        let found = table.get(id)?.with_context(|| format!("there is no workflow {id}"))?;
        decode(found.value())
    }

    /// The image of a workflow at its last call.
    pub fn image(&self, id: u64) -> Result<Vec<u8>> {
        let table = self.0.begin_read()?.open_table(IMAGES)?;
        let found = table.get(id)?.with_context(|| format!("workflow {id} has no image"))?;
        Ok(found.value().to_vec())
    }

    /// All workflows.
    pub fn workflows(&self) -> Result<Vec<(u64, Workflow)>> {
        let table = self.0.begin_read()?.open_table(WORKFLOWS)?;
        let all = table.iter()?.map(|entry| {
            let (id, workflow) = entry?;
            Ok((id.value(), decode(workflow.value())?))
        });
        all.collect()
    }

    /// All that was to be seen, in the order of workflows and steps.
    pub fn effects(&self) -> Result<Vec<Effect>> {
        let table = self.0.begin_read()?.open_table(EFFECTS)?;
        let all = table.iter()?.map(|entry| {
            let (key, what) = entry?;
            let (id, step) = key.value();
            Ok(Effect { id, step, what: what.value().to_owned() })
        });
        all.collect()
    }
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
