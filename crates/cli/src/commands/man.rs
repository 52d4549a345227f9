//! `ropewalk man`: prints the manual page.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use ropewalk::Result;

use crate::Cli;
use crate::terminal::stdout;

/// Print the manual page, with all subcommands and options.
///
/// To install it: ropewalk man > ~/.local/share/man/man1/ropewalk.1
#[derive(Args)]
pub(crate) struct Man {}

impl Man {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        stdout::text(&page()?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The page in roff: the command, then a section for each subcommand.
fn page() -> Result<String> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(command.clone());
    main.render_title(&mut page)?;
    main.render_name_section(&mut page)?;
    main.render_synopsis_section(&mut page)?;
    main.render_description_section(&mut page)?;
    for command in command.get_subcommands() {
        let mut section = Vec::new();
        let man = clap_mangen::Man::new(command.clone());
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let section = String::from_utf8(section)?.replace(".SH ", ".SS ");
        page.extend(format!(".SH \"ROPEWALK {}\"\n", command.get_name().to_uppercase()).bytes());
        page.extend(section.bytes());
    }
    Ok(String::from_utf8(page)?)
}
