//! What is left of a program that failed: its stacks, and a core dump.

use std::path::{Path, PathBuf};

use clap::Args;
use ropewalk::{Error, Result, StackList, Store, Trap, TrapCode};

use crate::files::Output;
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

    /// What is written to files.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = Output<'_>> {
        self.coredump_output().into_iter().chain(self.stacks_output())
    }

    fn coredump_output(&self) -> Option<Output<'_>> {
        Some(Output { what: "the core dump", path: self.coredump.as_deref()? })
    }

    fn stacks_output(&self) -> Option<Output<'_>> {
        let path = self.stacks.as_deref().filter(|path| !is_stderr(path))?;
        Some(Output { what: "the stacks", path })
    }

    /// The same, with paths from wherever they are used.
    pub(crate) fn with_paths(self, path: impl Fn(PathBuf) -> PathBuf) -> PostMortem {
        PostMortem { coredump: self.coredump.map(&path), stacks: self.stacks.map(&path) }
    }

    /// Writes what was asked for, as much of it as can be written; returns what could not. Of a
    /// program in which nobody handled a tag, says which stacks wait.
    pub(crate) fn write<T>(
        &self,
        store: &mut Store<T>,
        file: &Path,
        error: &Error,
    ) -> Vec<Result<()>> {
        let Some(stacks) = store.take_stacks_of_failure() else { return Vec::new() };
        let trap = error.downcast_ref::<Trap>();
        if trap.is_some_and(|trap| trap.code() == TrapCode::UnhandledTag) {
            explain(&stacks);
        }
        if self.stacks.as_deref().is_some_and(is_stderr) {
            colour::print(&stacks.to_string());
        }
        let dump = self.coredump_output().map(|output| {
            let dump = store.core_dump(&input::name(file), &stacks);
            output.write(&dump)
        });
        let list = self.stacks_output().map(|output| {
            let is_json = output.path.extension().is_some_and(|extension| extension == "json");
            let text = if is_json { stacks.to_json() } else { stacks.to_string() };
            output.write(format!("{text}\n").as_bytes())
        });
        dump.into_iter().chain(list).collect()
    }
}

/// Says which stacks wait, unless none does.
fn explain(stacks: &StackList) {
    let waits = stacks.waits();
    if !waits.is_empty() {
        colour::print(&waits.to_string());
    }
}

/// Whether the list of stacks is to be printed with the error that it belongs to.
fn is_stderr(path: &Path) -> bool {
    path == Path::new("-")
}
