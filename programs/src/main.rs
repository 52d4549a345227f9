//! Runs real programs on Ropewalk and on Wasmtime 48, compares their outputs byte by byte, and
//! prints times and memory side by side.
//!
//! | file | contents |
//! | --- | --- |
//! | `programs` | the programs: how to build and run each |
//! | `toolchains` | fetching and calling toolchains |
//! | `run` | one run of a program on an engine |
//! | `child_process` | the process of a run on Ropewalk; `wasmtime.py` is the one on Wasmtime |
//! | `outcome` | outputs and costs of a run, and comparing two runs |
//! | `table` | the table of results |
//! | `progress` | progress on a terminal |

#![forbid(unsafe_code)]

mod child_process;
mod outcome;
mod programs;
mod progress;
mod run;
mod table;
mod toolchains;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;

use crate::outcome::difference;
use crate::programs::Program;
use crate::progress::Progress;
use crate::run::{Engine, Figures};
use crate::table::Row;
use crate::toolchains::Toolchains;

/// Run real programs on Ropewalk and on Wasmtime 48, and compare.
///
/// Toolchains are fetched by pip, npm, cargo, go and mvn into the target folder.
/// Programs whose toolchains are not available are skipped, and the table names the reason.
#[derive(Parser)]
#[command(name = "ropewalk-programs")]
struct Cli {
    /// Prefixes of the names of programs to run. By default all programs run.
    names: Vec<String>,

    /// The number of runs of each program on each engine. The cheapest run counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Lists the programs without running them.
    #[arg(long)]
    list: bool,

    /// Fetches and builds programs without running them.
    #[arg(long)]
    build: bool,

    /// Prints the table as Markdown.
    #[arg(long)]
    markdown: bool,
}

fn main() -> ExitCode {
    let result = match child_process::requested() {
        Some(request) => return child_process::execute(request),
        None => compare(&Cli::parse()),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the selected programs, and prints the table.
fn compare(cli: &Cli) -> Result<ExitCode> {
    let chosen = choose(&cli.names)?;
    if cli.list {
        for program in chosen {
            println!("{:20} {}", program.name, program.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let progress = Progress::new();
    let toolchains = Toolchains::new(&progress)?;
    let mut rows = Vec::new();
    for program in chosen {
        let row = row(&toolchains, program, cli, &progress)?;
        progress.say(program.name, &row.summary());
        rows.push(row);
    }
    progress.clear();
    print!("{}", table::render(&rows, cli.markdown));
    let wrong = rows.iter().any(Row::is_wrong);
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn choose(names: &[String]) -> Result<Vec<&'static Program>> {
    for name in names {
        if !programs::ALL.iter().any(|program| program.name.starts_with(name.as_str())) {
            bail!("there is no program `{name}`; --list shows all");
        }
    }
    let chosen = |program: &&Program| {
        names.is_empty() || names.iter().any(|name| program.name.starts_with(name.as_str()))
    };
    Ok(programs::ALL.iter().filter(chosen).collect())
}

/// Builds a program and runs it on both engines alternately.
fn row(
    toolchains: &Toolchains<'_>,
    program: &'static Program,
    cli: &Cli,
    progress: &Progress,
) -> Result<Row> {
    progress.say(program.name, "building");
    let job = match (program.build)(toolchains) {
        Ok(job) => job,
        Err(missing) => return Ok(Row::skipped(program, format!("{missing:#}"))),
    };
    if cli.build {
        return Ok(Row::built(program));
    }
    let python = match toolchains.wasmtime() {
        Ok(python) => python,
        Err(missing) => return Ok(Row::skipped(program, format!("{missing:#}"))),
    };
    let mut best = [Figures::default(); 2];
    for round in 1..=cli.rounds {
        let mut outcomes = Vec::new();
        for (engine, best) in [Engine::Ropewalk, Engine::Wasmtime].into_iter().zip(&mut best) {
            progress.say(program.name, &format!("round {round} of {}, {engine}", cli.rounds));
            let outcome = match run::run(toolchains, program.name, &job, engine, &python) {
                Ok(outcome) => outcome,
                Err(error) => return Ok(Row::wrong(program, format!("{engine}: {error:#}"))),
            };
            best.improve(&outcome.figures, round == 1);
            outcomes.push(outcome);
        }
        if let Some(difference) = difference(&outcomes[0], &outcomes[1]) {
            return Ok(Row::wrong(program, difference));
        }
    }
    Ok(Row::measured(program, best))
}
