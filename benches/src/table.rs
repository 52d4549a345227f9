//! Prints the table, aligned for a terminal or as Markdown.

use anyhow::{Error, Result};

use crate::machine::description;
use crate::measure::{LONG_ENOUGH, Measured};
use crate::row::Row;

const HEAD: [&str; 7] =
    ["program", "one operation", "ropewalk", "wasmtime", "ratio", "median", "spread"];

/// The widths of the columns; text is flush left, figures are flush right.
const WIDTHS: [usize; 7] = [22, 25, 10, 10, 6, 6, 12];
const COLUMNS_OF_TEXT: usize = 2;

/// How the table looks.
#[derive(Clone, Copy)]
pub enum Style {
    Terminal,
    Markdown,
}

impl Style {
    /// What stands above the first row.
    pub fn print_head(self) {
        println!("{}", description());
        println!("Time per operation; ratio is ropewalk to wasmtime, below 1 is faster.\n");
        self.print_cells(&HEAD.map(str::to_owned));
        if let Self::Markdown = self {
            println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
        }
    }

    /// One row, as soon as it is known.
    pub fn print_row(self, row: &Row, outcome: &Result<Measured>) {
        match outcome {
            Ok(measured) => self.print_cells(&cells(row, measured)),
            Err(error) => self.print_failure(row, error),
        }
    }

    fn print_cells(self, cells: &[String; 7]) {
        match self {
            Self::Terminal => println!("{}", aligned(cells)),
            Self::Markdown => println!("| {} |", cells.join(" | ")),
        }
    }

    fn print_failure(self, row: &Row, error: &Error) {
        let message = format!("{error:#}").replace('\n', " ");
        match self {
            Self::Terminal => println!("{:<22} FAILED: {message}", row.name),
            Self::Markdown => println!("| {} | **failed**: {message} | | | | | |", row.name),
        }
    }
}

fn cells(row: &Row, measured: &Measured) -> [String; 7] {
    let [least, middle, most] = measured.rounds;
    [
        row.name.to_owned(),
        row.operation.to_owned(),
        time(measured.ours),
        time(measured.theirs),
        format!("{:.2}{}", measured.ratio, doubt(measured)),
        format!("{middle:.2}"),
        format!("{least:.2}..{most:.2}"),
    ]
}

/// A mark for a ratio of runs that were too short to trust.
fn doubt(measured: &Measured) -> &'static str {
    if measured.shortest < LONG_ENOUGH { "?" } else { "" }
}

fn aligned(cells: &[String; 7]) -> String {
    let pad = |(column, (cell, width)): (usize, (&String, usize))| match column {
        ..COLUMNS_OF_TEXT => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    };
    cells.iter().zip(WIDTHS).enumerate().map(pad).collect::<Vec<_>>().join(" ")
}

/// Seconds in the unit that suits them, to three digits.
fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let fits = units.iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = fits.unwrap_or(&(1e-9, "ns"));
    let value = seconds / unit;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time(1.5), "1.50 s");
        assert_eq!(time(0.0123), "12.3 ms");
        assert_eq!(time(456e-6), "456 µs");
        assert_eq!(time(0.25e-9), "0.25 ns");
    }
}
