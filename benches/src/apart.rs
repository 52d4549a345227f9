//! Runs in separate processes. The command starts itself with a hidden option, and a crash is an
//! error like any other.

use std::process::{Command, ExitStatus, Output};

use anyhow::{Context, Result, bail};

use crate::Entry;
use crate::row::{Run, Side};

/// The option. [`request`] makes its argument, and [`respond`] parses it.
pub const OPTION: &str = "--apart";

/// Which side of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Ours,
    Theirs,
}

/// A side that runs each run in a process. The index of a row in the list of all rows identifies
/// it.
pub fn side(row: usize, which: Which) -> Side {
    Box::new(move |round, size| {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.arg(OPTION).arg(request(row, which, round, size)).output()?;
        if !output.status.success() {
            bail!("{}", reason(&output));
        }
        parse(&String::from_utf8(output.stdout)?).context("a run apart gave no figures")
    })
}

fn request(row: usize, which: Which, round: usize, size: i64) -> String {
    let theirs = usize::from(which == Which::Theirs);
    format!("{row} {theirs} {round} {size}")
}

fn parse(output: &str) -> Option<Run> {
    let (cost, result) = output.trim().split_once(' ')?;
    Some(Run { cost: cost.parse().ok()?, result: result.parse().ok()? })
}

/// Executes a request and prints the figures.
pub fn respond(entries: &[Entry], request: &str) -> Result<()> {
    let words = request.split(' ').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    let &[row, theirs, round, size] = words.as_slice() else { bail!("not a request: {request}") };
    let row = &entries.get(usize::try_from(row)?).context("no such row")?.row;
    let prepare = match &row.peer {
        Some(peer) if theirs == 1 => &peer.prepare,
        _ => &row.ours,
    };
    let run = prepare()?(usize::try_from(round)?, size)?;
    println!("{} {}", run.cost, run.result);
    Ok(())
}

/// Why a process failed: its last line of output, or the signal.
fn reason(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = stderr.lines().rfind(|line| !line.trim().is_empty());
    match (killed(output.status), said) {
        (None, Some(said)) => said.trim().to_owned(),
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, None) => output.status.to_string(),
    }
}

#[cfg(unix)]
fn killed(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn killed(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_the_way() {
        let run = parse("0.0000125 -7\n").unwrap();
        assert_eq!((run.cost, run.result), (0.000_012_5, -7));
        assert!(parse("").is_none());
    }
}
