//! Writes the measured tables into the document that shows them.
//!
//! The document has markers for each table:
//!
//! ```text
//! <!-- figures: continuations -->
//! | program | ...
//! <!-- end -->
//! ```
//!
//! A run replaces all tables, so all figures are of one revision.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::measure::{Comparison, Measured, Theirs};
use crate::row::{Row, Unit};
use crate::table::{Style, doubt, ratio};
use crate::{Entry, conditions, measured};

/// The document.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/BENCHMARKS.md");

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end -->";

/// The name of the line with the conditions of the measurement.
const MACHINE: &str = "machine";

/// The name of the table of rows in which a peer is faster.
const SLOWER: &str = "slower";

/// A ratio above noise.
const CLEARLY_SLOWER: f64 = 1.05;

/// A table of the document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Plain,
    Calls,
    Interruption,
    Continuations,
    Designs,
    Exceptions,
    Collection,
    Waiting,
    Memory,
    Compiling,
    Copies,
    Tracing,
}

impl Table {
    const ALL: [Table; 12] = [
        Table::Plain,
        Table::Calls,
        Table::Interruption,
        Table::Continuations,
        Table::Designs,
        Table::Exceptions,
        Table::Collection,
        Table::Waiting,
        Table::Memory,
        Table::Compiling,
        Table::Copies,
        Table::Tracing,
    ];

    fn name(self) -> &'static str {
        match self {
            Table::Plain => "plain",
            Table::Calls => "calls",
            Table::Interruption => "interruption",
            Table::Continuations => "continuations",
            Table::Designs => "designs",
            Table::Exceptions => "exceptions",
            Table::Collection => "collection",
            Table::Waiting => "waiting",
            Table::Memory => "memory",
            Table::Compiling => "compiling",
            Table::Copies => "copies",
            Table::Tracing => "tracing",
        }
    }

    /// The table of a row, from the table of its group.
    pub fn of_row(self, row: &Row) -> Table {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| row.name.starts_with(prefix));
        match self {
            Table::Plain if row.name == "call host" => Table::Calls,
            Table::Calls if begins(&["compile", "load "]) => Table::Compiling,
            Table::Continuations if begins(&["live, ", "abandon, resident"]) => Table::Memory,
            Table::Continuations if begins(&["collection, "]) => Table::Collection,
            Table::Continuations if begins(&["bag: ", "fiber: ", "first-class: "]) => {
                Table::Designs
            }
            Table::Waiting if row.unit == Unit::Bytes => Table::Memory,
            group => group,
        }
    }
}

/// Measures all rows and writes all tables. Returns whether all rows have figures.
pub fn write(entries: &[Entry], rounds: usize) -> Result<bool> {
    let mut text = read()?;
    let outcomes: Vec<_> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| (entry, measured(index, &entry.row, rounds)))
        .collect();
    let machine = format!("{}, {}, {rounds} rounds.", conditions::description(), revision());
    text = replaced(&text, MACHINE, &[machine])?;
    text = replaced(&text, SLOWER, &table(outcomes.iter().filter(|outcome| is_slower(outcome))))?;
    for place in Table::ALL {
        let rows = outcomes.iter().filter(|(entry, _)| entry.table == place);
        let lines = match place {
            Table::Interruption => interruption(&rows.collect::<Vec<_>>()),
            _ => table(rows),
        };
        text = replaced(&text, place.name(), &lines)?;
    }
    fs::write(DOCUMENT, text).with_context(|| format!("cannot write {DOCUMENT}"))?;
    Ok(outcomes.iter().all(|(_, outcome)| outcome.is_ok()))
}

type Outcome<'a> = (&'a Entry, Result<Measured>);

fn table<'a>(outcomes: impl Iterator<Item = &'a Outcome<'a>>) -> Vec<String> {
    let row = |(entry, outcome): &Outcome<'_>| Style::Markdown.row(&entry.row, outcome);
    Style::Markdown.head().into_iter().chain(outcomes.map(row)).collect()
}

/// Whether a row's peer is another engine or library, and faster.
fn is_slower((entry, outcome): &Outcome<'_>) -> bool {
    let Ok(Measured { theirs: Theirs::Compared(found), .. }) = outcome else { return false };
    let peer = entry.row.peer.as_ref().map_or("", |peer| peer.name);
    let is_peer = peer.starts_with("wasmtime") && !peer.ends_with("without");
    let [_, median, _] = found.rounds;
    (is_peer || peer == "corosensei") && found.ratio.min(median) > CLEARLY_SLOWER
}

/// One line per program, whose cells are four rows.
fn interruption(outcomes: &[&Outcome<'_>]) -> Vec<String> {
    let mut lines = vec![
        "| program | interruption | Wasmtime's epochs | fuel | Wasmtime's fuel |".to_owned(),
        "| --- | ---: | ---: | ---: | ---: |".to_owned(),
    ];
    for four in outcomes.chunks(4) {
        let name = four[0].0.row.name.trim_start_matches("interruption: ");
        let cells: Vec<_> = four.iter().map(|outcome| median_and_spread(outcome)).collect();
        lines.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    lines
}

fn median_and_spread((entry, outcome): &Outcome<'_>) -> String {
    match outcome {
        Ok(measured) => match &measured.theirs {
            Theirs::Compared(Comparison { rounds, .. }) => {
                let [least, median, most] = rounds.map(ratio);
                format!("{median}{} ({least}..{most})", doubt(&entry.row, measured))
            }
            Theirs::None | Theirs::Fails(_) => "?".to_owned(),
        },
        Err(error) => format!("**failed**: {error}"),
    }
}

/// The revision of the repository, and whether the code has changed since.
fn revision() -> String {
    let git = |arguments: &[&str]| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let has_changed = git(&["status", "--porcelain"]).is_some_and(|status| !status.is_empty());
    let changes = if has_changed { ", with uncommitted changes" } else { "" };
    match git(&["rev-parse", "--short=10", "HEAD"]) {
        Some(revision) => format!("revision {revision}{changes}"),
        None => "an unknown revision".to_owned(),
    }
}

/// The document. Fails if a table has no markers, or markers have no table.
fn read() -> Result<String> {
    let text = fs::read_to_string(DOCUMENT).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let tables: Vec<_> = Table::ALL.map(Table::name).into_iter().chain([MACHINE, SLOWER]).collect();
    check(&text, &tables)?;
    Ok(text)
}

/// The names of all markers of a document.
fn places(text: &str) -> impl Iterator<Item = &str> {
    text.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(" -->")).map(|(name, _)| name)
}

fn check(text: &str, tables: &[&str]) -> Result<()> {
    for table in tables {
        let count = places(text).filter(|place| place == table).count();
        ensure!(count == 1, "the document has {count} places for the table `{table}`, expected 1");
    }
    for place in places(text) {
        ensure!(tables.contains(&place), "there is no table for the place `{place}`");
    }
    Ok(())
}

fn replaced(text: &str, place: &str, lines: &[String]) -> Result<String> {
    let begin = format!("{BEGIN}{place} -->\n");
    let (before, rest) = text.split_once(&begin).with_context(|| format!("no place `{place}`"))?;
    let end = || format!("the place `{place}` has no end");
    let (_, after) = rest.split_once(END).with_context(end)?;
    Ok(format!("{before}{begin}\n{}\n\n{END}{after}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a\n<!-- figures: x -->\nold\n<!-- end -->\nb\n<!-- figures: y -->\n<!-- end -->\n";

    #[test]
    fn a_table_replaces_what_its_place_holds() {
        let text = replaced(TEXT, "x", &["| new |".to_owned()]).unwrap();
        assert!(text.starts_with("a\n<!-- figures: x -->\n\n| new |\n\n<!-- end -->\nb\n"));
        assert!(replaced(TEXT, "z", &[]).is_err());
    }

    #[test]
    fn places_and_tables_must_match() {
        assert!(check(TEXT, &["x", "y"]).is_ok());
        assert!(check(TEXT, &["x"]).is_err());
        assert!(check(TEXT, &["x", "y", "z"]).is_err());
    }

    #[test]
    fn the_document_has_a_place_for_each_table() {
        read().unwrap();
    }
}
