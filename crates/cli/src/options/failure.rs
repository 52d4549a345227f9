//! `--coredump` and `--stacks`: outputs after a failure.

use std::path::{Path, PathBuf};

use clap::Args;
use ropewalk::{Error, Result, Store, Trap, TrapCode};

use crate::files::input;
use crate::files::output::Output;
use crate::terminal::color;

/// How many suspended stacks are recorded without these options.
const FEW_STACKS: usize = 64;

/// What to write if the program fails.
#[derive(Args, Default)]
pub(crate) struct FailureOutputs {
    /// If the program fails, writes a core dump with all its stacks, memories and
    /// globals, in the format of the WebAssembly tool conventions.
    #[arg(long, value_name = "FILE")]
    coredump: Option<PathBuf>,

    /// If the program fails, writes a list of all its stacks: the state and source position of
    /// each, and the stacks that wait for it. The list is JSON if the name ends in `.json`; `-` is the
    /// standard error.
    #[arg(long, value_name = "FILE")]
    stacks: Option<PathBuf>,
}

impl FailureOutputs {
    /// Makes a store record its stacks when a program fails.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>) {
        let wants_all = self.coredump.is_some() || self.stacks.is_some();
        store.keep_stacks_of_failure(if wants_all { usize::MAX } else { FEW_STACKS });
    }

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

    /// The same outputs at other paths.
    pub(crate) fn map_paths(self, path: impl Fn(PathBuf) -> PathBuf) -> FailureOutputs {
        FailureOutputs { coredump: self.coredump.map(&path), stacks: self.stacks.map(&path) }
    }

    /// Writes the outputs after a failure; returns a result for each. After an unhandled tag,
    /// also prints which stacks wait.
    pub(crate) fn write<T>(
        &self,
        store: &mut Store<T>,
        file: &Path,
        error: &Error,
    ) -> Vec<Result<()>> {
        let Some(stacks) = store.take_stacks_of_failure() else { return Vec::new() };
        let trap = error.downcast_ref::<Trap>();
        let waits = stacks.waits();
        if !waits.is_empty() && trap.is_some_and(|trap| trap.code() == TrapCode::UnhandledTag) {
            color::print(&waits.to_string());
        }
        if self.stacks.as_deref().is_some_and(is_stderr) {
            color::print(&stacks.to_string());
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

/// Whether the list of stacks is printed to the standard error.
fn is_stderr(path: &Path) -> bool {
    path == Path::new("-")
}
