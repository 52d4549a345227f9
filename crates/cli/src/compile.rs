//! `ropewalk compile`: compiles a module to a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::{Config, Engine, Result};

use crate::files::Output;
use crate::input;

/// Compile a module to a file that `ropewalk run` starts at once.
///
/// The file is for this version of ropewalk, and another one refuses it. On another kind of
/// machine, and with options for which other code is needed, such as --timeout, `run` compiles
/// it anew and keeps that. It holds machine code: run only files that you would run as a program.
#[derive(Args)]
pub(crate) struct Compile {
    /// The module, as text (.wat) or binary (.wasm), or `-` for the standard
    /// input.
    file: PathBuf,

    /// Where to write it: FILE with the ending .cwasm, if nothing is said. `-` is the standard
    /// output.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl Compile {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let engine = Engine::new(&Config::new())?;
        let output = match self.output {
            Some(output) => output,
            None if input::is_stdin(&self.file) => {
                anyhow::bail!("of the standard input, say with -o where to write it")
            }
            None => self.file.with_extension("cwasm"),
        };
        let output = Output { what: "the compiled module", path: &output };
        output.check_is_none_of(&[&self.file])?;
        output.write(&input::module(&engine, &self.file)?.serialize()?)?;
        Ok(ExitCode::SUCCESS)
    }
}
