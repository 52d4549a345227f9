//! `ropewalk trace`: makes a picture of what the stacks of a program did.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use ropewalk::Result;
use ropewalk_trace::Trace as Recorded;

use crate::files::Output;
use crate::{colour, input};

/// Show a trace that `ropewalk run --trace` recorded.
///
/// It becomes a page for a browser, with a timeline of all stacks; one file that needs
/// no network.
#[derive(Args)]
pub(crate) struct Trace {
    /// The trace (.rwtrace), or `-` for the standard input.
    file: PathBuf,

    /// Where to write it: as a page, as JSON for the viewers of Chrome and Perfetto, or
    /// as a still picture, as the name ends in .html, .json or .svg. Without, it is
    /// printed, or is a page beside FILE. `-` is the standard output.
    #[arg(short, long)]
    output: Option<PathBuf>,

    /// Makes JSON for the viewers of Chrome (about:tracing) and Perfetto.
    #[arg(long, conflicts_with = "svg")]
    json: bool,

    /// Makes a still picture of a small program.
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
            colour::print(&format!("wrote {}", page.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The format that an option says, or the name of the output.
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
                "cannot tell what to make: expected an output whose name ends in .html, .json \
                 or .svg, or the option --json or --svg"
            ),
        }
    }

    fn read(&self) -> Result<Recorded> {
        let bytes = input::bytes(&self.file)?;
        let name = input::name(&self.file);
        let reading = Recorded::read(&bytes).with_context(|| name.to_string())?;
        let (trace, events) = (reading.trace, "events");
        if !reading.is_whole {
            let whole = trace.events.len();
            colour::print(&format!(
                "warning: {name} is cut off: its {whole} whole {events} are shown"
            ));
        }
        if trace.dropped > 0 {
            let dropped = trace.dropped;
            colour::print(&format!(
                "warning: the oldest {dropped} {events} were dropped by a limit"
            ));
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
