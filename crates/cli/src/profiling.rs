//! Profiles: where a program spends its time, for other tools to show.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::ensure;
use clap::Args;
use fxprof_processed_profile as firefox;
use ropewalk::{Config, Profile, Result, Store};

use crate::files::Output;
use crate::{input, timeout};

/// How often a program is sampled if nothing is said.
const INTERVAL: Duration = Duration::from_millis(1);

/// Options that say what is sampled.
#[derive(Args, Default)]
pub(crate) struct Profiling {
    /// Samples where the program spends its time, across stacks: as JSON for
    /// profiler.firefox.com if the name ends in `.json`, or else as folded stacks, of which
    /// other tools make flame graphs.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Tells `perf` the names of the program's functions, in /tmp/perf-PID.map: for `perf record
    /// ropewalk run --perf-map FILE`.
    #[arg(long)]
    perf_map: bool,

    /// Tells `perf` of the program's functions, with their code and their source lines, in
    /// DIR/jit-PID.dump: for `perf record -k mono ropewalk run --jitdump DIR FILE`, and then `perf
    /// inject --jit`.
    #[arg(long, value_name = "DIR")]
    jitdump: Option<PathBuf>,

    /// Tells native debuggers of the program's functions: for `gdb --args ropewalk run
    /// --native-debug FILE`, whose backtraces then go through them, from stack to stack.
    #[arg(long)]
    native_debug: bool,

    /// The time from one sample to the next, 1ms if nothing is said.
    #[arg(long, value_name = "TIME", value_parser = timeout::parse, requires = "profile")]
    profile_interval: Option<Duration>,

    /// Whether the code is such that it can be sampled, though nobody asks for it.
    #[arg(skip)]
    is_possible: bool,
}

impl Profiling {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.perf_map(self.perf_map).native_debug(self.native_debug);
        config.jitdump(self.jitdump.clone());
        if self.is_on() || self.is_possible {
            config.interruption(true);
        }
    }

    /// Whether the program is sampled.
    pub(crate) fn is_on(&self) -> bool {
        self.profile.is_some()
    }

    /// What is written.
    pub(crate) fn output(&self) -> Option<Output<'_>> {
        Some(Output { what: "the profile", path: self.profile.as_deref()? })
    }

    /// The same for a program that goes on, whose code may be such that it can be sampled.
    pub(crate) fn after(self, is_possible: bool) -> Result<Profiling> {
        ensure!(
            is_possible || !self.is_on(),
            "--profile: the program cannot be sampled, since it was run without --profile"
        );
        Ok(Profiling { is_possible, ..self })
    }

    /// Begins.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>) -> Result<()> {
        match self.is_on() {
            true => store.start_profile(self.profile_interval.unwrap_or(INTERVAL)),
            false => Ok(()),
        }
    }

    /// Writes what was sampled, however the program has ended.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        let Some(output) = self.output() else { return Ok(()) };
        let profile = store.take_profile()?;
        let text = match output.path.extension().is_some_and(|extension| extension == "json") {
            true => for_firefox(&profile, &input::name(program))?,
            false => profile.to_folded(),
        };
        output.write(text.as_bytes())
    }
}

/// A profile as the Firefox Profiler reads it.
fn for_firefox(profile: &Profile, program: &str) -> Result<String> {
    let begun = SystemTime::now() - profile.samples.last().map_or(Duration::ZERO, |last| last.time);
    let mut made = firefox::Profile::new(program, begun.into(), profile.interval.into());
    let start = firefox::Timestamp::from_nanos_since_reference(0);
    let process = made.add_process(program, std::process::id(), start);
    let thread = made.add_thread(process, std::process::id(), start, true);
    let names: Vec<_> = profile.functions.iter().map(|name| made.intern_string(name)).collect();
    for sample in &profile.samples {
        let time = sample.time.as_nanos() as u64;
        let frames = profile.stacks[sample.stack].iter().map(|function| firefox::FrameInfo {
            frame: firefox::Frame::Label(names[*function]),
            category_pair: firefox::CategoryHandle::OTHER.into(),
            flags: firefox::FrameFlags::empty(),
        });
        let time = firefox::Timestamp::from_nanos_since_reference(time);
        let delta = firefox::CpuDelta::from(profile.interval);
        made.add_sample(thread, time, frames, delta, 1);
    }
    Ok(serde_json::to_string(&made)?)
}
