//! One run of a program on an engine, in a separate process.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::child_process::RUN;
use crate::outcome::Outcome;
use crate::toolchains::Toolchains;

/// The name of the scratch folder in the program. It is absolute, since Go programs have no
/// current directory.
pub(crate) const SCRATCH: &str = "/scratch";

#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Ropewalk,
    Wasmtime,
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Engine::Ropewalk => "Ropewalk",
            Engine::Wasmtime => "Wasmtime",
        })
    }
}

/// A module, with the modules that it imports from.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) module: PathBuf,
    pub(crate) preload: Option<(&'static str, PathBuf)>,
}

impl Subject {
    /// A module that imports only WASI.
    pub(crate) fn plain(module: PathBuf) -> Subject {
        Subject { module, preload: None }
    }
}

/// The modules and arguments for each engine.
pub(crate) struct Job {
    pub(crate) ours: Subject,
    /// The module for Wasmtime, if it differs.
    pub(crate) theirs: Subject,
    pub(crate) arguments: Vec<String>,
    /// Folders that the program reads, with their names in the program.
    pub(crate) inputs: Vec<(PathBuf, &'static str)>,
}

impl Job {
    /// The same module on both engines.
    pub(crate) fn same(subject: Subject, arguments: &[&str]) -> Job {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Job { ours: subject.clone(), theirs: subject, arguments, inputs: Vec::new() }
    }

    pub(crate) fn reading(mut self, folder: PathBuf, name: &'static str) -> Job {
        self.inputs.push((folder, name));
        self
    }
}

/// The costs of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) compile: Duration,
    /// CPU time of compilation on all threads.
    pub(crate) compile_processor: Duration,
    /// The peak of additional memory during compilation.
    pub(crate) memory: u64,
    /// The time to instantiate the program and run it to its end.
    pub(crate) run: Duration,
    pub(crate) run_processor: Duration,
}

impl Figures {
    fn read(path: &Path) -> Result<Figures> {
        let text = fs::read_to_string(path)?;
        let numbers: Vec<u64> =
            text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [compile, compile_processor, memory, run, run_processor] = numbers[..] else {
            bail!("a report of {} numbers", numbers.len());
        };
        Ok(Figures {
            compile: Duration::from_nanos(compile),
            compile_processor: Duration::from_nanos(compile_processor),
            memory,
            run: Duration::from_nanos(run),
            run_processor: Duration::from_nanos(run_processor),
        })
    }

    /// The minimum of both, for each figure.
    pub(crate) fn improve(&mut self, other: &Figures, first: bool) {
        if first {
            *self = *other;
            return;
        }
        self.compile = self.compile.min(other.compile);
        self.compile_processor = self.compile_processor.min(other.compile_processor);
        self.memory = self.memory.min(other.memory);
        self.run = self.run.min(other.run);
        self.run_processor = self.run_processor.min(other.run_processor);
    }
}

/// Runs a program to its end.
pub(crate) fn run(
    toolchains: &Toolchains<'_>,
    name: &str,
    job: &Job,
    engine: Engine,
    python: &[PathBuf; 2],
) -> Result<Outcome> {
    let folder = toolchains.folder("runs")?.join(format!("{name}-{engine}"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let scratch = folder.join("scratch");
    fs::create_dir_all(&scratch)?;
    let report = folder.join("report");

    let mut command = match engine {
        Engine::Ropewalk => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(RUN);
            command
        }
        Engine::Wasmtime => {
            let mut command = Command::new("python3");
            command.arg("-I").args(python);
            command
        }
    };
    let subject = match engine {
        Engine::Ropewalk => &job.ours,
        Engine::Wasmtime => &job.theirs,
    };
    command.arg("--report").arg(&report);
    command.arg("--dir").arg(&scratch).arg(SCRATCH);
    for (folder, name) in &job.inputs {
        command.arg("--dir").arg(folder).arg(name);
    }
    if let Some((name, file)) = &subject.preload {
        command.arg("--preload").arg(name).arg(file);
    }
    command.arg(&subject.module).args(&job.arguments);
    command.stdout(File::create(folder.join("stdout"))?);
    command.stderr(File::create(folder.join("stderr"))?);
    let status = command.status().with_context(|| format!("{engine} could not be started"))?;
    let mut outcome = Outcome::read(&folder, &scratch)?;
    ensure!(status.success() && report.exists(), "{status}: {}", outcome.complaint());
    outcome.figures = Figures::read(&report)?;
    Ok(outcome)
}
