//! Runs the same modules on Ropewalk and on its peers, and compares them.
//!
//! ```text
//! cargo run --release -p ropewalk-bench [-- FILTER..] [--rounds N] [--markdown]
//! cargo run --release -p ropewalk-bench -- --report
//! cargo run --release -p ropewalk-bench -- --designs
//! ```
//!
//! Each row is a kind of operation. Its cost is (time of a large run − time of a tiny run) /
//! operations, from the fastest of several rounds that alternate between the engines. Both sides
//! must return the same results. Otherwise the row has no figures, and the command fails.

mod apart;
mod binding;
mod clauses;
mod clock;
mod comparison;
mod conditions;
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
mod measure;
mod native;
mod products;
mod programs;
mod report;
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
use measure::{Measured, Sides};
use report::Table;
use row::Row;
use table::Style;

/// Compares the speed of Ropewalk and its peers
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

    /// Write all tables of docs/BENCHMARKS.md
    #[arg(long, conflicts_with_all = ["filters", "markdown"])]
    report: bool,

    /// Write docs/COMPARISON.md: the same programs in every design
    #[arg(long, conflicts_with_all = ["filters", "markdown", "report"])]
    designs: bool,

    /// Do one run for a parent process
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

/// A row, and the table of the document that it belongs to.
struct Entry {
    table: Table,
    row: Row,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let entries = entries();
    let rounds = arguments.rounds.into();
    let done = match &arguments.apart {
        None if arguments.designs => comparison::write(rounds),
        None if arguments.report => report::write(&entries, rounds),
        None => print_rows(&entries, &arguments),
        Some(request) => apart::respond(&entries, request).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}", error.root_cause());
            ExitCode::FAILURE
        }
    }
}

/// Prints the selected rows. Returns whether all of them have figures.
fn print_rows(entries: &[Entry], arguments: &Arguments) -> Result<bool> {
    let style = arguments.style();
    let mut good = true;
    style.print_head();
    for (index, Entry { row, .. }) in entries.iter().enumerate() {
        if !arguments.wants(row) {
            continue;
        }
        let outcome = measured(index, row, arguments.rounds.into());
        println!("{}", style.row(row, &outcome));
        good &= outcome.is_ok();
    }
    Ok(good)
}

/// Measures a row. `index` is its index among all entries.
fn measured(index: usize, row: &Row, rounds: usize) -> Result<Measured> {
    progress(row.name);
    let outcome = sides(index, row).and_then(|sides| measure::measure(row, sides, rounds));
    progress("");
    outcome
}

fn sides(index: usize, row: &Row) -> Result<Sides> {
    if row.apart {
        let [ours, theirs] = [Which::Ours, Which::Theirs].map(|which| apart::side(index, which));
        return Ok(Sides { ours, theirs: Ok(theirs) });
    }
    let theirs = match &row.peer {
        None => Err(anyhow!("the row has no peer")),
        Some(peer) => (peer.prepare)(),
    };
    Ok(Sides { ours: (row.ours)()?, theirs })
}

fn entries() -> Vec<Entry> {
    let groups = [
        (Table::Plain, programs::rows()),
        (Table::Calls, embedding::rows()),
        (Table::Compiling, products::rows()),
        (Table::Collection, gc::rows()),
        (Table::Exceptions, exceptions::rows()),
        (Table::Continuations, continuations::rows()),
        (Table::Memory, deep::rows()),
        (Table::Continuations, binding::rows()),
        (Table::Copies, copies::rows()),
        (Table::Waiting, waiting::rows()),
        (Table::Designs, designs::rows()),
        (Table::Designs, depths::rows()),
        (Table::Continuations, clauses::rows()),
        (Table::Interruption, interruption::rows()),
        (Table::Tracing, tracing::rows()),
    ];
    let entry = |group: Table| move |row: Row| Entry { table: group.of_row(&row), row };
    groups.into_iter().flat_map(|(group, rows)| rows.into_iter().map(entry(group))).collect()
}

/// Shows the current row on a terminal, in place of the previous one.
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
        for Entry { row, .. } in entries() {
            let ours = (row.ours)()?(0, row.size.tiny)?;
            if let Some(peer) = &row.peer {
                let theirs = (peer.prepare)()?(0, peer.size.tiny)?;
                assert_eq!(ours.result, theirs.result, "{}", row.name);
            }
        }
        Ok(())
    }
}
