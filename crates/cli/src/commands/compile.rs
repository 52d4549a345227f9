//! `ropewalk compile`: compiles a module to a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::{Config, Engine, Result};

use crate::files::input;
use crate::files::output::Output;

/// Compile a module to a file that `ropewalk run` starts without compiling.
///
/// Only this version of ropewalk accepts the file. On another kind of machine, or with
/// options that need different code, such as --timeout, `run` compiles the module again
/// and caches the result. The file contains machine code: run only files that you trust.
#[derive(Args)]
pub(crate) struct Compile {
    /// The module, as text (.wat) or binary (.wasm), or `-` for the standard
    /// input.
    file: PathBuf,

    /// The file to write, or `-` for the standard output. By default FILE with the
    /// extension .cwasm.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl Compile {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let engine = Engine::new(&Config::new())?;
        let output = match self.output {
            Some(output) => output,
            None if input::is_stdin(&self.file) => {
                anyhow::bail!("reading from standard input: use -o to name the output")
            }
            None => self.file.with_extension("cwasm"),
        };
        let output = Output { what: "the compiled module", path: &output };
        output.check_is_none_of(&[&self.file])?;
        output.write(&input::module(&engine, &self.file)?.serialize()?)?;
        Ok(ExitCode::SUCCESS)
    }
}
