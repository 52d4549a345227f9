//! The table of results.

use std::fmt::Write as _;
use std::time::Duration;

use crate::programs::Program;
use crate::run::Figures;

/// The result of a program.
pub(crate) struct Row {
    program: &'static Program,
    result: Finding,
}

enum Finding {
    /// The costs on Ropewalk, then on Wasmtime.
    Measured([Figures; 2]),
    /// It was built but not run.
    Built,
    /// The reason that it was not run.
    Skipped(String),
    /// How the outputs differ, or which engine failed.
    Wrong(String),
}

impl Row {
    pub(crate) fn measured(program: &'static Program, figures: [Figures; 2]) -> Row {
        Row { program, result: Finding::Measured(figures) }
    }

    pub(crate) fn built(program: &'static Program) -> Row {
        Row { program, result: Finding::Built }
    }

    pub(crate) fn skipped(program: &'static Program, reason: String) -> Row {
        Row { program, result: Finding::Skipped(reason) }
    }

    pub(crate) fn wrong(program: &'static Program, reason: String) -> Row {
        Row { program, result: Finding::Wrong(reason) }
    }

    pub(crate) fn is_wrong(&self) -> bool {
        matches!(self.result, Finding::Wrong(_))
    }

    /// A short description.
    pub(crate) fn summary(&self) -> String {
        let cells = self.cells();
        match cells.len() {
            2 => cells[1].clone(),
            _ => format!("compile {}, memory {}, run {}", cells[2], cells[5], cells[7]),
        }
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.program.name.to_owned()];
        match &self.result {
            Finding::Measured([ours, theirs]) => {
                cells.push(times(ours.compile, theirs.compile));
                cells.push(ratio(seconds(ours.compile), seconds(theirs.compile)));
                let processor = [ours.compile_processor, theirs.compile_processor].map(seconds);
                cells.push(ratio(processor[0], processor[1]));
                let memory = [ours.memory, theirs.memory].map(|bytes| bytes as f64);
                cells.push(format!("{:.1} / {:.1} MB", memory[0] / 1e6, memory[1] / 1e6));
                cells.push(ratio(memory[0], memory[1]));
                cells.push(times(ours.run, theirs.run));
                cells.push(ratio(seconds(ours.run), seconds(theirs.run)));
                cells.push(ratio(seconds(ours.run_processor), seconds(theirs.run_processor)));
            }
            Finding::Built => cells.push("built".to_owned()),
            Finding::Skipped(reason) => cells.push(format!("skipped: {reason}")),
            Finding::Wrong(reason) => cells.push(format!("WRONG: {reason}")),
        }
        cells
    }
}

const HEADS: [&str; 9] =
    ["program", "compile", "ratio", "processor", "memory", "ratio", "run", "ratio", "processor"];

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn times(ours: Duration, theirs: Duration) -> String {
    format!("{} / {}", time(seconds(ours)), time(seconds(theirs)))
}

fn time(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        _ => format!("{:.1} ms", seconds * 1e3),
    }
}

fn ratio(ours: f64, theirs: f64) -> String {
    if theirs > 0.0 { format!("{:.2}", ours / theirs) } else { "-".to_owned() }
}

/// The table, as text or Markdown. The first of two figures belongs to Ropewalk.
pub(crate) fn render(rows: &[Row], markdown: bool) -> String {
    let mut lines = vec![HEADS.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(Row::cells));
    if markdown { as_markdown(&lines) } else { as_text(&lines) }
}

fn as_markdown(lines: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, cells) in lines.iter().enumerate() {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if number == 0 {
            let _ = writeln!(text, "| --- |{}", " ---: |".repeat(HEADS.len() - 1));
        }
    }
    text
}

/// Aligns columns; lines with only a reason are not aligned.
fn as_text(lines: &[Vec<String>]) -> String {
    let full = lines.iter().filter(|cells| cells.len() == HEADS.len());
    let mut widths = [0; HEADS.len()];
    for cells in full {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = cell.len().max(*width);
        }
    }
    widths[0] = lines.iter().map(|cells| cells[0].len()).max().unwrap_or(0);
    let mut text = String::new();
    for cells in lines {
        let _ = write!(text, "{:<width$}", cells[0], width = widths[0]);
        for (cell, width) in cells[1..].iter().zip(&widths[1..]) {
            let _ = match cells.len() {
                2 => write!(text, "  {cell}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}
