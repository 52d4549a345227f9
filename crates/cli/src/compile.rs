//! `ropewalk compile`: compiles a module to a file.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use ropewalk::{Config, Engine, Result};

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

    /// Where to write it: FILE with the ending .cwasm, if nothing is said.
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
        let bytes = input::module(&engine, &self.file)?.serialize()?;
        fs::write(&output, bytes).with_context(|| format!("cannot write {}", output.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
