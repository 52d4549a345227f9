//! Runs in a process of their own: the command starts itself again with a hidden
//! option, and a run that crashes is an error like any other.

use std::process::{Command, ExitStatus, Output};

use anyhow::{Context, Result, bail};

use crate::row::{Row, Run, Side};

/// The option, followed by what [`request`] makes and [`answer`] takes.
pub const OPTION: &str = "--apart";

/// Which side of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Ours,
    Theirs,
}

/// A side whose every run is a process. The row is known by its place in the list
/// of all rows.
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

/// Does what a request asks and prints the figures.
pub fn answer(rows: &[&Row], request: &str) -> Result<()> {
    let words = request.split(' ').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    let &[row, theirs, round, size] = words.as_slice() else { bail!("not a request: {request}") };
    let row = rows.get(usize::try_from(row)?).context("no such row")?;
    let prepare = match &row.rival {
        Some(rival) if theirs == 1 => &rival.prepare,
        _ => &row.ours,
    };
    let run = prepare()?(usize::try_from(round)?, size)?;
    println!("{} {}", run.cost, run.result);
    Ok(())
}

/// Why a process failed, in few words: what it said last, or the signal.
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
