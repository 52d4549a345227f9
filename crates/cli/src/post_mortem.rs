//! What is left of a program that failed: its stacks, and a core dump.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ropewalk::{Error, Result, StackList, Store, Trap, TrapCode};

use crate::{colour, input};

/// How many suspended stacks are listed if nobody asks for all.
const FEW: usize = 64;

/// Options that say what is kept of a program that fails.
#[derive(Args, Default)]
pub(crate) struct PostMortem {
    /// If the program fails, writes a core dump with all its stacks, its memories and its
    /// globals, in the format of the WebAssembly tool conventions.
    #[arg(long, value_name = "FILE")]
    coredump: Option<PathBuf>,

    /// If the program fails, writes a list of all its stacks: what each does, where it is
    /// and who waits for it. As JSON if the name ends in `.json`; `-` is the standard error.
    #[arg(long, value_name = "FILE")]
    stacks: Option<PathBuf>,
}

impl PostMortem {
    /// Has a store keep what is needed later.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>) {
        let wants_all = self.coredump.is_some() || self.stacks.is_some();
        store.keep_stacks_of_failure(if wants_all { usize::MAX } else { FEW });
    }

    /// Writes what was asked for. Of a program in which nobody handled a tag, says which
    /// stacks wait.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, file: &Path, error: &Error) -> Result<()> {
        let Some(stacks) = store.take_stacks_of_failure() else { return Ok(()) };
        let trap = error.downcast_ref::<Trap>();
        if trap.is_some_and(|trap| trap.code() == TrapCode::UnhandledTag) {
            explain(&stacks);
        }
        if let Some(path) = &self.coredump {
            let dump = store.core_dump(&input::name(file), &stacks);
            write(path, &dump).context("cannot write the core dump")?;
        }
        if let Some(path) = &self.stacks {
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            let text = if is_json { stacks.to_json() } else { stacks.to_string() };
            write(path, format!("{text}\n").as_bytes()).context("cannot write the stacks")?;
        }
        Ok(())
    }
}

/// Says which stacks wait, unless none does.
fn explain(stacks: &StackList) {
    let waits = stacks.waits();
    if !waits.is_empty() {
        colour::print(&waits.to_string());
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = match path.as_os_str() == "-" {
        true => {
            colour::print(&String::from_utf8_lossy(bytes));
            Ok(())
        }
        false => fs::write(path, bytes),
    };
    written.with_context(|| path.display().to_string())
}
