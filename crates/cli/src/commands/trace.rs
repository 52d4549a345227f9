//! `ropewalk trace`: draws what the stacks of a program did.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use ropewalk::Result;
use ropewalk_trace::Trace as Recorded;

use crate::files::input;
use crate::files::output::Output;
use crate::terminal::color;

/// Draw a trace that `ropewalk run --trace` recorded.
///
/// The result is a page for a browser with a timeline of all stacks, in one file that needs
/// no network.
#[derive(Args)]
pub(crate) struct Trace {
    /// The trace (.rwtrace), or `-` for the standard input.
    file: PathBuf,

    /// The file to write, or `-` for the standard output. The extension selects the format:
    /// .html for a page, .json for the viewers of Chrome and Perfetto, .svg for a picture.
    /// By default a page next to FILE; other formats are printed.
    #[arg(short, long)]
    output: Option<PathBuf>,

    /// Writes JSON for the viewers of Chrome (about:tracing) and Perfetto.
    #[arg(long, conflicts_with = "svg")]
    json: bool,

    /// Writes a picture, for small programs.
    #[arg(long)]
    svg: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Page,
    Json,
    Svg,
}

impl Trace {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let format = self.format()?;
        let recorded = self.read()?;
        let page = self.file.with_extension("html");
        let is_beside = format == Format::Page && !input::is_stdin(&self.file);
        let path = match &self.output {
            Some(path) => path,
            None if is_beside => &page,
            None => Path::new("-"),
        };
        let output = Output { what: "the picture", path };
        output.check_is_none_of(&[&self.file])?;
        output.write_by(|file| write(&recorded, format, file))?;
        if self.output.is_none() && is_beside {
            color::print(&format!("wrote {}", page.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The format that an option or the extension of the output selects.
    fn format(&self) -> Result<Format> {
        let extension = self.output.as_deref().and_then(Path::extension);
        match extension.and_then(|extension| extension.to_str()) {
            _ if self.json => Ok(Format::Json),
            _ if self.svg => Ok(Format::Svg),
            Some("html" | "htm") => Ok(Format::Page),
            Some("json") => Ok(Format::Json),
            Some("svg") => Ok(Format::Svg),
            _ if self.output.is_none() => Ok(Format::Page),
            _ => bail!(
                "unknown format: expected an output name that ends in .html, .json or .svg, or \
                 one of the options --json and --svg"
            ),
        }
    }

    fn read(&self) -> Result<Recorded> {
        let bytes = input::bytes(&self.file)?;
        let name = input::name(&self.file);
        let reading = Recorded::read(&bytes).with_context(|| name.to_string())?;
        let trace = reading.trace;
        if !reading.is_whole {
            let complete = trace.events.len();
            color::print(&format!(
                "warning: {name} is truncated: showing its {complete} complete events"
            ));
        }
        if trace.dropped > 0 {
            let dropped = trace.dropped;
            color::print(&format!("warning: the trace limit dropped the oldest {dropped} events"));
        }
        Ok(trace)
    }
}

fn write(trace: &Recorded, format: Format, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    match format {
        Format::Page => to.write_all(trace.page().as_bytes())?,
        Format::Json => trace.write_chrome(&mut to)?,
        Format::Svg => to.write_all(trace.svg().as_bytes())?,
    }
    to.flush()
}
