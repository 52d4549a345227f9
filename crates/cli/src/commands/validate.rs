//! `ropewalk validate`: checks modules without running them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ropewalk::{Engine, Module, Result};

use crate::errors;
use crate::files::input;

/// Check that modules are valid. Prints nothing if they are.
#[derive(Args)]
pub(crate) struct Validate {
    /// The modules, as text (.wat) or binary (.wasm), or `-` for the standard
    /// input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Validate {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let engine = Engine::default();
        let mut code = ExitCode::SUCCESS;
        for file in &self.files {
            if let Err(error) = validate(&engine, file) {
                code = errors::report(&error);
            }
        }
        Ok(code)
    }
}

fn validate(engine: &Engine, file: &Path) -> Result<()> {
    let bytes = input::module_bytes(file)?;
    Module::validate(engine, &bytes).map_err(|error| input::in_file(file, &bytes, error))
}
