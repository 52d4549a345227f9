//! Writes the figures into the document that shows them, and draws its pictures.
//!
//! The document has markers for each pattern:
//!
//! ```text
//! <!-- figures: generator -->
//! | design | ...
//! <!-- end -->
//! ```

use anyhow::{Context, Result, ensure};

use crate::{Figures, PATTERNS, Pattern};

const END: &str = "<!-- end -->";
const HEAD: &str = "\
| design | lines | bytes | code | switches | stacks | bytes of frames | time |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
";

/// Replaces the tables of a document by those of these figures. A time is in nanoseconds.
pub fn page(
    document: &str,
    figures: &[Vec<Figures>],
    time: impl Fn(&Pattern, &str) -> Option<f64>,
) -> Result<String> {
    let mut document = document.to_owned();
    for (pattern, figures) in PATTERNS.iter().zip(figures) {
        let table = table(pattern, figures, |design| time(pattern, design));
        document = replaced(&document, pattern.name, &table)?;
    }
    let of = |cell: &dyn Fn(&Pattern, &str, &Figures) -> String| overview(figures, cell);
    let lines = of(&|_, _, figures| figures.lines.to_string());
    let bytes = of(&|_, _, figures| format!("{} / {}", figures.bytes, figures.code));
    let switches = of(&|_, _, figures| figures.switches.to_string());
    let times = of(&|pattern, design, _| nanoseconds(time(pattern, design)));
    for (name, table) in
        [("lines", lines), ("bytes", bytes), ("switches", switches), ("time", times)]
    {
        document = replaced(&document, name, &table)?;
    }
    Ok(document)
}

/// The names of all pictures, and what they show.
pub fn pictures(figures: &[Vec<Figures>]) -> impl Iterator<Item = (String, &str)> {
    PATTERNS.iter().zip(figures).flat_map(|(pattern, figures)| {
        pattern.guests.iter().zip(figures).map(|((design, _), figures)| {
            (format!("{}-{design}.svg", pattern.name), &*figures.picture)
        })
    })
}

impl Pattern {
    /// The figures of its programs.
    pub fn figures(&self) -> Result<Vec<Figures>> {
        let figures = |(design, source): &(&str, &str)| {
            Figures::of(source, self.drawn, format!("{}: {}", self.name, title(design)))
        };
        self.guests.iter().map(figures).collect()
    }
}

fn table(pattern: &Pattern, figures: &[Figures], time: impl Fn(&str) -> Option<f64>) -> String {
    let mut table = HEAD.to_owned();
    for ((design, _), figures) in pattern.guests.iter().zip(figures) {
        let Figures { lines, bytes, code, switches, stacks, frames, .. } = figures;
        let guest = format!("../examples/patterns/guests/{}/{design}.wat", pattern.name);
        let time = nanoseconds(time(design));
        table += &format!(
            "| [{}]({guest}) | {lines} | {bytes} | {code} | {switches} | {stacks} | {frames} | {time} |\n",
            title(design),
        );
    }
    for (design, _) in pattern.guests {
        let picture = format!("pictures/comparison/{}-{design}.svg", pattern.name);
        let title = title(design);
        table += &format!("\n{title}:\n\n![Stacks of {}: {title}]({picture})\n", pattern.name);
    }
    table
}

/// A figure of all programs: a row for each pattern, a column for each design.
fn overview(figures: &[Vec<Figures>], cell: &dyn Fn(&Pattern, &str, &Figures) -> String) -> String {
    let designs = || PATTERNS[0].guests.iter().map(|(design, _)| *design);
    let mut table = String::from("| pattern |");
    designs().for_each(|design| table += &format!(" {} |", title(design)));
    table += &format!("\n| --- |{}\n", " ---: |".repeat(designs().count()));
    for (pattern, figures) in PATTERNS.iter().zip(figures) {
        table += &format!("| [{0}](#{0}) |", pattern.name);
        for design in designs() {
            let index = pattern.guests.iter().position(|(name, _)| *name == design);
            let cell = index.map_or("-".into(), |index| cell(pattern, design, &figures[index]));
            table += &format!(" {cell} |");
        }
        table += "\n";
    }
    table
}

fn nanoseconds(time: Option<f64>) -> String {
    time.map_or(String::new(), |time| {
        let decimals = usize::from(time < 20.0);
        format!("{time:.decimals$} ns")
    })
}

/// The name of a design in text.
fn title(design: &str) -> &str {
    match design {
        "continuations" => "typed continuations",
        "bag" => "bag of stacks",
        "first-class" => "first-class stacks",
        design => design,
    }
}

/// The document with other lines between the markers of this name.
pub fn replaced(document: &str, name: &str, table: &str) -> Result<String> {
    let begin = format!("<!-- figures: {name} -->\n");
    let (before, rest) =
        document.split_once(&begin).with_context(|| format!("no figures of {name}"))?;
    let (old, after) = rest.split_once(END).with_context(|| format!("no end of {name}"))?;
    ensure!(!old.contains("<!-- figures"), "no end of {name}");
    Ok(format!("{before}{begin}{table}{END}{after}"))
}
