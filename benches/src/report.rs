//! Writes the measured tables into the document that shows them.
//!
//! The document has a place for each table:
//!
//! ```text
//! <!-- figures: continuations -->
//! | program | ...
//! <!-- end -->
//! ```
//!
//! One run replaces all tables, so all figures of the document are of one revision.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The document, from the root of the repository.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/BENCHMARKS.md");

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end -->";

/// The document, read and checked: it has one place for each table.
pub struct Report {
    text: String,
}

impl Report {
    /// Reads the document. Fails if a table has no place, or a place no table.
    pub fn open(tables: &[&str]) -> Result<Report> {
        let text =
            fs::read_to_string(DOCUMENT).with_context(|| format!("cannot read {DOCUMENT}"))?;
        check(&text, tables)?;
        Ok(Report { text })
    }

    /// Puts a table into its place.
    pub fn set(&mut self, table: &str, lines: &[String]) -> Result<()> {
        self.text = replaced(&self.text, table, &lines.join("\n"))?;
        Ok(())
    }

    /// Writes the document.
    pub fn save(&self) -> Result<()> {
        fs::write(DOCUMENT, &self.text).with_context(|| format!("cannot write {DOCUMENT}"))
    }
}

/// The revision of the repository, and whether the code has changed since.
pub fn revision() -> String {
    let git = |arguments: &[&str]| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = |status: String| match status.is_empty() {
        true => "",
        false => ", with uncommitted changes",
    };
    let changes = git(&["status", "--porcelain"]).map_or("", changed);
    git(&["rev-parse", "--short=10", "HEAD"]).map_or("an unknown revision".to_owned(), |revision| {
        format!("revision {revision}{changes}")
    })
}

/// The names of the places of a document.
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

fn replaced(text: &str, table: &str, with: &str) -> Result<String> {
    let begin = format!("{BEGIN}{table} -->\n");
    let Some((before, rest)) = text.split_once(&begin) else { bail!("no place for `{table}`") };
    let Some((_, after)) = rest.split_once(END) else { bail!("the place `{table}` has no end") };
    Ok(format!("{before}{begin}{with}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a\n<!-- figures: x -->\nold\n<!-- end -->\nb\n<!-- figures: y -->\n<!-- end -->\n";

    #[test]
    fn a_table_replaces_what_its_place_holds() {
        let text = replaced(TEXT, "x", "| new |").unwrap();
        assert!(text.starts_with("a\n<!-- figures: x -->\n| new |\n<!-- end -->\nb\n"));
        assert!(replaced(TEXT, "z", "").is_err());
    }

    #[test]
    fn places_and_tables_must_match() {
        assert!(check(TEXT, &["x", "y"]).is_ok());
        assert!(check(TEXT, &["x"]).is_err());
        assert!(check(TEXT, &["x", "y", "z"]).is_err());
    }

    #[test]
    fn the_document_has_a_place_for_each_table() {
        let names: Vec<_> = crate::tables().iter().map(|table| table.name).collect();
        let names: Vec<_> = names.into_iter().chain([crate::MACHINE]).collect();
        check(&fs::read_to_string(DOCUMENT).unwrap(), &names).unwrap();
    }
}
