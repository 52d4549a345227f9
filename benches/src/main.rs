//! Runs the same modules on Ropewalk and on Wasmtime and prints how they compare.
//!
//! ```text
//! cargo run --release -p ropewalk-bench [-- FILTER..] [--rounds N] [--markdown]
//! ```
//!
//! Each row is a kind of operation. Its time is (time of a large run − time of a
//! tiny run) / operations, from the fastest of several rounds that alternate
//! between the engines. The engines must agree on every result; a row on which
//! they do not has no figures and makes the command fail.

mod clock;
mod embedding;
mod engine;
mod generate;
mod machine;
mod measure;
mod programs;
mod ropewalk;
mod row;
mod table;
mod wasmtime;

use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;

use clap::Parser;

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
    let style = arguments.style();
    let mut good = true;
    style.print_head();
    for row in all_rows().iter().filter(|row| arguments.wants(row)) {
        progress(row.name);
        let outcome = measure::measure(row, arguments.rounds.into());
        progress("");
        style.print_row(row, &outcome);
        good &= outcome.is_ok();
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn all_rows() -> Vec<Row> {
    let mut rows = programs::rows();
    rows.extend(embedding::rows());
    rows
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
    fn engines_agree_on_tiny_runs() -> anyhow::Result<()> {
        for row in all_rows() {
            let mut sides = (row.prepare)()?;
            let ours = (sides.ours)(0, row.size.tiny)?;
            let theirs = (sides.theirs)(0, row.size.tiny)?;
            assert_eq!(ours.result, theirs.result, "{}", row.name);
        }
        Ok(())
    }
}
