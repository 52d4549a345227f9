//! Runs the same modules on Ropewalk and on its rivals and prints how they compare.
//!
//! ```text
//! cargo run --release -p ropewalk-bench [-- FILTER..] [--rounds N] [--markdown]
//! cargo run --release -p ropewalk-bench -- --report
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
use report::Report;
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

    /// Write all tables of docs/BENCHMARKS.md
    #[arg(long, conflicts_with_all = ["filters", "markdown"])]
    report: bool,

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

/// The place in the document that says when and where the tables were measured.
const MACHINE: &str = "machine";

/// Rows that answer one question.
struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let tables = tables();
    let done = match &arguments.apart {
        None if arguments.report => write_report(&tables, arguments.rounds.into()),
        None => print_rows(&tables, &arguments),
        Some(request) => apart::answer(&rows(&tables).collect::<Vec<_>>(), request).map(|()| true),
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

/// Prints the rows that are asked for. Returns whether all of them have figures.
fn print_rows(tables: &[Table], arguments: &Arguments) -> Result<bool> {
    let style = arguments.style();
    let mut good = true;
    style.print_head();
    for (index, row) in rows(tables).enumerate().filter(|(_, row)| arguments.wants(row)) {
        let outcome = measured(index, row, arguments.rounds.into());
        println!("{}", style.row(row, &outcome));
        good &= outcome.is_ok();
    }
    Ok(good)
}

/// Writes all tables of the document. Returns whether all rows have figures.
fn write_report(tables: &[Table], rounds: usize) -> Result<bool> {
    let names: Vec<_> = tables.iter().map(|table| table.name).chain([MACHINE]).collect();
    let mut report = Report::open(&names)?;
    let mut good = true;
    let revision = report::revision();
    let measured_on = format!("{}, {revision}, {rounds} rounds.", machine::description());
    report.set(MACHINE, &[measured_on])?;
    let mut index = 0;
    for table in tables {
        let mut lines = Style::Markdown.head();
        for row in &table.rows {
            let outcome = measured(index, row, rounds);
            lines.push(Style::Markdown.row(row, &outcome));
            good &= outcome.is_ok();
            index += 1;
        }
        report.set(table.name, &lines)?;
    }
    report.save()?;
    Ok(good)
}

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
    let theirs = match &row.rival {
        None => Err(anyhow!("nobody")),
        Some(rival) => (rival.prepare)(),
    };
    Ok(Sides { ours: (row.ours)()?, theirs })
}

/// All tables, in the order of the document.
fn tables() -> Vec<Table> {
    let table = |name, rows| Table { name, rows };
    vec![
        table("programs", programs::rows()),
        table("embedding", embedding::rows()),
        table("products", products::rows()),
        table("gc", gc::rows()),
        table("exceptions", exceptions::rows()),
        table("continuations", continuations::rows()),
        table("deep", deep::rows()),
        table("binding", binding::rows()),
        table("copies", copies::rows()),
        table("waiting", waiting::rows()),
        table("designs", designs::rows()),
        table("depths", depths::rows()),
        table("clauses", clauses::rows()),
        table("interruption", interruption::rows()),
        table("tracing", tracing::rows()),
    ]
}

fn rows(tables: &[Table]) -> impl Iterator<Item = &Row> {
    tables.iter().flat_map(|table| &table.rows)
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
        for row in rows(&tables()) {
            let ours = (row.ours)()?(0, row.size.tiny)?;
            if let Some(rival) = &row.rival {
                let theirs = (rival.prepare)()?(0, rival.size.tiny)?;
                assert_eq!(ours.result, theirs.result, "{}", row.name);
            }
        }
        Ok(())
    }
}
