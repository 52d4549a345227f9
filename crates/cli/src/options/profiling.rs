//! `--profile`, and the options for native profilers and debuggers.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::ensure;
use clap::Args;
use fxprof_processed_profile as firefox;
use ropewalk::{Config, Profile, Result, Store};

use crate::files::input;
use crate::files::output::Output;
use crate::options::timeout;

/// The default time between two samples.
const INTERVAL: Duration = Duration::from_millis(1);

/// What to sample, and which tools to inform about compiled code.
#[derive(Args, Default)]
pub(crate) struct Profiling {
    /// Samples where the program spends its time, across stacks. The profile is JSON for
    /// profiler.firefox.com if the name ends in `.json`, otherwise folded stacks for flame
    /// graphs.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Writes the names of the program's functions to /tmp/perf-PID.map, for `perf record
    /// ropewalk run --perf-map FILE`.
    #[arg(long)]
    perf_map: bool,

    /// Writes the program's functions with their code and source lines to DIR/jit-PID.dump, for
    /// `perf record -k mono ropewalk run --jitdump DIR FILE` followed by `perf inject --jit`.
    #[arg(long, value_name = "DIR")]
    jitdump: Option<PathBuf>,

    /// Registers the program's functions with native debuggers, for `gdb --args ropewalk run
    /// --native-debug FILE`. Backtraces then include them, across stacks.
    #[arg(long)]
    native_debug: bool,

    /// The time between two samples; 1ms by default.
    #[arg(long, value_name = "TIME", value_parser = timeout::parse, requires = "profile")]
    profile_interval: Option<Duration>,

    /// Whether code is compiled for sampling even without a profile.
    #[arg(skip)]
    compiles_for_sampling: bool,
}

impl Profiling {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.perf_map(self.perf_map).native_debug(self.native_debug);
        config.jitdump(self.jitdump.clone());
        if self.is_on() || self.compiles_for_sampling {
            config.interruption(true);
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.profile.is_some()
    }

    pub(crate) fn output(&self) -> Option<Output<'_>> {
        Some(Output { what: "the profile", path: self.profile.as_deref()? })
    }

    /// The options of `resume` for a program whose code was compiled for sampling or not.
    pub(crate) fn of_resumed(self, compiles_for_sampling: bool) -> Result<Profiling> {
        ensure!(
            compiles_for_sampling || !self.is_on(),
            "--profile: the snapshot cannot be sampled, since `run` was called without --profile"
        );
        Ok(Profiling { compiles_for_sampling, ..self })
    }

    /// Starts sampling.
    pub(crate) fn start<T>(&self, store: &mut Store<T>) -> Result<()> {
        match self.is_on() {
            true => store.start_profile(self.profile_interval.unwrap_or(INTERVAL)),
            false => Ok(()),
        }
    }

    /// Writes the profile after the program has ended.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        let Some(output) = self.output() else { return Ok(()) };
        let profile = store.take_profile()?;
        let text = match output.path.extension().is_some_and(|extension| extension == "json") {
            true => firefox_json(&profile, &input::name(program))?,
            false => profile.to_folded(),
        };
        output.write(text.as_bytes())
    }
}

/// A profile in the format of the Firefox Profiler.
fn firefox_json(profile: &Profile, program: &str) -> Result<String> {
    let start = SystemTime::now() - profile.samples.last().map_or(Duration::ZERO, |last| last.time);
    let mut output = firefox::Profile::new(program, start.into(), profile.interval.into());
    let start = firefox::Timestamp::from_nanos_since_reference(0);
    let process = output.add_process(program, std::process::id(), start);
    let thread = output.add_thread(process, std::process::id(), start, true);
    let names: Vec<_> = profile.functions.iter().map(|name| output.intern_string(name)).collect();
    for sample in &profile.samples {
        let time = sample.time.as_nanos() as u64;
        let frames = profile.stacks[sample.stack].iter().map(|function| firefox::FrameInfo {
            frame: firefox::Frame::Label(names[*function]),
            category_pair: firefox::CategoryHandle::OTHER.into(),
            flags: firefox::FrameFlags::empty(),
        });
        let time = firefox::Timestamp::from_nanos_since_reference(time);
        let delta = firefox::CpuDelta::from(profile.interval);
        output.add_sample(thread, time, frames, delta, 1);
    }
    Ok(serde_json::to_string(&output)?)
}
