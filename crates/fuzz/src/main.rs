//! Runs targets: `ropewalk-fuzz --target NAME --seconds N`.

#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use ropewalk_fuzz::drive::{Plan, drive};
use ropewalk_fuzz::{Target, child, seeds, targets};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Runs random cases, and writes those that find a problem.
#[derive(Parser)]
#[command(name = "ropewalk-fuzz")]
struct Arguments {
    /// A target to run; default: all.
    #[arg(long)]
    target: Vec<String>,
    /// The time to run, in seconds.
    #[arg(long, default_value_t = 60.0, conflicts_with = "hours")]
    seconds: f64,
    /// The time to run, in hours.
    #[arg(long)]
    hours: Option<f64>,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The number of processes.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The time limit of a case, in seconds.
    #[arg(long, default_value_t = 20.0)]
    timeout: f64,
    /// The folder for findings.
    #[arg(long, default_value = "findings")]
    out: PathBuf,
    /// Run only the case of the seed, in this process, and print it.
    #[arg(long)]
    once: bool,
    /// Run only the case whose bytes are in a file, in hexadecimal, in this process, and print it.
    #[arg(long)]
    entropy: Option<PathBuf>,
    /// Run as a child of another process.
    #[arg(long, hide = true)]
    child: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.child {
        child::serve()?;
        return Ok(ExitCode::SUCCESS);
    }
    let targets = chosen(&arguments.target)?;
    if arguments.once || arguments.entropy.is_some() {
        let [target] = &targets[..] else {
            bail!("--once and --entropy need exactly one --target")
        };
        return once(target.as_ref(), &entropy(&arguments)?);
    }
    let plan = Plan {
        time: seconds(arguments.hours.map_or(arguments.seconds, |hours| hours * 3600.0))?,
        seed: arguments.seed,
        jobs: arguments.jobs,
        timeout: seconds(arguments.timeout)?,
        out: arguments.out,
    };
    let findings = drive(&targets, &plan)?;
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn seconds(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds)
        .with_context(|| format!("{seconds} seconds is not a valid duration"))
}

fn chosen(names: &[String]) -> Result<Vec<Box<dyn Target>>> {
    let all = targets();
    let known: Vec<_> = all.iter().map(|target| target.name()).collect();
    for name in names {
        ensure!(
            known.contains(&&name[..]),
            "no target {name}: expected one of {}",
            known.join(", ")
        );
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(all.into_iter().filter(|target| wanted(target.name())).collect())
}

fn entropy(arguments: &Arguments) -> Result<Vec<u8>> {
    let Some(path) = &arguments.entropy else { return Ok(seeds::entropy(arguments.seed)) };
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    seeds::from_hex(&text).with_context(|| format!("{}: not hexadecimal", path.display()))
}

/// Prints the case first, since it may end the process.
fn once(target: &dyn Target, entropy: &[u8]) -> Result<ExitCode> {
    println!("{}", target.render(entropy));
    Ok(match child::check(target, entropy) {
        Ok(()) => {
            println!(";; no problem found");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!(";; problem: {}", what.replace('\n', "\n;;   "));
            ExitCode::FAILURE
        }
    })
}
