//! Prints the table, aligned for a terminal or as Markdown.

use anyhow::{Error, Result};

use crate::conditions::description;
use crate::measure::{Comparison, LONG_ENOUGH, Measured, Theirs};
use crate::row::{Row, Unit};

const COLUMNS: usize = 8;

const HEAD: [&str; COLUMNS] =
    ["row", "one operation", "against", "Ropewalk", "peer", "ratio", "median", "spread"];

/// The widths of the columns. Text is flush left, figures are flush right.
const WIDTHS: [usize; COLUMNS] = [25, 28, 17, 10, 10, 7, 7, 14];
const COLUMNS_OF_TEXT: usize = 3;

/// The style of the table.
#[derive(Clone, Copy)]
pub enum Style {
    Terminal,
    Markdown,
}

impl Style {
    /// Prints the lines above the first row: the machine, and the head of the table.
    pub fn print_head(self) {
        println!("{}", description());
        println!(
            "Cost of an operation; the ratio is Ropewalk's cost divided by the peer's; below 1, Ropewalk is better.\n"
        );
        println!("{}", self.head().join("\n"));
    }

    /// The lines above the first row.
    pub fn head(self) -> Vec<String> {
        let names = self.line(&HEAD.map(str::to_owned));
        match self {
            Self::Terminal => vec![names],
            Self::Markdown => {
                vec![names, "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |".to_owned()]
            }
        }
    }

    /// The line of a row.
    pub fn row(self, row: &Row, outcome: &Result<Measured>) -> String {
        match outcome {
            Ok(measured) => self.line(&cells(row, measured)),
            Err(error) => self.failure(row, error),
        }
    }

    fn line(self, cells: &[String; COLUMNS]) -> String {
        match self {
            Self::Terminal => aligned(cells),
            Self::Markdown => format!("| {} |", cells.join(" | ")),
        }
    }

    fn failure(self, row: &Row, error: &Error) -> String {
        let message = one_line(error);
        match self {
            Self::Terminal => format!("{:<25} FAILED: {message}", row.name),
            Self::Markdown => format!("| {} | **failed**: {message} | | | | | | |", row.name),
        }
    }
}

fn one_line(error: &Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

fn cells(row: &Row, measured: &Measured) -> [String; COLUMNS] {
    let figure = |cost| match row.unit {
        Unit::Seconds => time(cost),
        Unit::Bytes => format!("{cost:.0} B"),
    };
    let peer = row.peer.as_ref().map_or("", |peer| peer.name);
    let [theirs, ratio, middle, spread] = match &measured.theirs {
        Theirs::None => Default::default(),
        Theirs::Fails(error) => {
            [format!("fails: {}", error.root_cause()), String::new(), String::new(), String::new()]
        }
        Theirs::Compared(comparison) => {
            let [ratio, middle, spread] = ratios(comparison, doubt(row, measured));
            [figure(comparison.theirs), ratio, middle, spread]
        }
    };
    let [name, operation, peer] = [row.name, row.operation, peer].map(str::to_owned);
    [name, operation, peer, figure(measured.ours), theirs, ratio, middle, spread]
}

fn ratios(comparison: &Comparison, doubt: &str) -> [String; 3] {
    let [least, middle, most] = comparison.rounds.map(ratio);
    [format!("{}{doubt}", ratio(comparison.ratio)), middle, format!("{least}..{most}")]
}

/// A ratio with two decimals, or more if it is small.
pub fn ratio(value: f64) -> String {
    if value.abs() < 0.1 { format!("{value:.4}") } else { format!("{value:.2}") }
}

/// A mark for a ratio of runs that were too short to trust.
pub fn doubt(row: &Row, measured: &Measured) -> &'static str {
    let doubtful = row.unit == Unit::Seconds && measured.shortest < LONG_ENOUGH;
    if doubtful { "?" } else { "" }
}

fn aligned(cells: &[String; COLUMNS]) -> String {
    let pad = |(column, (cell, width)): (usize, (&String, usize))| match column {
        ..COLUMNS_OF_TEXT => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    };
    cells.iter().zip(WIDTHS).enumerate().map(pad).collect::<Vec<_>>().join(" ")
}

/// Seconds in a suitable unit, with three digits.
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
