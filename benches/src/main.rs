//! Runs the same modules on Ropewalk and on its rivals and prints how they compare.
//!
//! ```text
//! cargo run --release -p ropewalk-bench [-- FILTER..] [--rounds N] [--markdown]
//! ```
//!
//! Each row is a kind of operation. Its time is (time of a large run − time of a
//! tiny run) / operations, from the fastest of several rounds that alternate
//! between the engines. The engines must agree on every result; a row on which
//! they do not has no figures and makes the command fail.

mod apart;
mod binding;
mod clauses;
mod clock;
mod continuations;
mod copies;
mod deep;
mod depths;
mod designs;
mod embedding;
mod engine;
mod exceptions;
mod gc;
mod generate;
mod interruption;
mod machine;
mod measure;
mod native;
mod products;
mod programs;
mod resident;
mod ropewalk;
mod row;
mod table;
mod tracing;
mod waiting;
mod wasmtime;

use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Parser;

use apart::Which;
use measure::Sides;
use row::Row;
use table::Style;

/// Compares the speed of Ropewalk with that of Wasmtime
#[derive(Parser)]
struct Arguments {
    /// Only rows whose name contains one of these
    filters: Vec<String>,

    /// How often to measure each row on each engine
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,

    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,

    /// Do one run, as the process that asks for it wants it
    #[arg(long, hide = true)]
    apart: Option<String>,
}

impl Arguments {
    fn wants(&self, row: &Row) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| row.name.contains(filter))
    }

    fn style(&self) -> Style {
        if self.markdown { Style::Markdown } else { Style::Terminal }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let rows = all_rows();
    match &arguments.apart {
        None => print_table(&rows, &arguments),
        Some(request) => answer(&rows, request),
    }
}

fn answer(rows: &[Row], request: &str) -> ExitCode {
    match apart::answer(rows, request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.root_cause());
            ExitCode::FAILURE
        }
    }
}

fn print_table(rows: &[Row], arguments: &Arguments) -> ExitCode {
    let style = arguments.style();
    let mut good = true;
    style.print_head();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| arguments.wants(row)) {
        progress(row.name);
        let outcome = sides(index, row)
            .and_then(|sides| measure::measure(row, sides, arguments.rounds.into()));
        progress("");
        style.print_row(row, &outcome);
        good &= outcome.is_ok();
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn sides(index: usize, row: &Row) -> Result<Sides> {
    if row.apart {
        let [ours, theirs] = [Which::Ours, Which::Theirs].map(|which| apart::side(index, which));
        return Ok(Sides { ours, theirs: Ok(theirs) });
    }
    let theirs = match &row.rival {
        None => Err(anyhow!("nobody")),
        Some(rival) => (rival.prepare)(),
    };
    Ok(Sides { ours: (row.ours)()?, theirs })
}

fn all_rows() -> Vec<Row> {
    let tables = [
        programs::rows(),
        embedding::rows(),
        products::rows(),
        gc::rows(),
        exceptions::rows(),
        continuations::rows(),
        deep::rows(),
        binding::rows(),
        copies::rows(),
        waiting::rows(),
        designs::rows(),
        depths::rows(),
        clauses::rows(),
        interruption::rows(),
        tracing::rows(),
    ];
    tables.into_iter().flatten().collect()
}

/// Shows what is under way, on a terminal only; the next call replaces it.
fn progress(name: &str) {
    let mut stderr = stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K{name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_agree_on_tiny_runs() -> Result<()> {
        for row in all_rows() {
            let ours = (row.ours)()?(0, row.size.tiny)?;
            if let Some(rival) = &row.rival {
                let theirs = (rival.prepare)()?(0, rival.size.tiny)?;
                assert_eq!(ours.result, theirs.result, "{}", row.name);
            }
        }
        Ok(())
    }
}
