//! `ropewalk lower`: translates a module of any design to a standard module.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::{Engine, Error, Module, ModuleError, Result};
use ropewalk_text::Text;

use crate::errors::binary_listing;
use crate::files::output::{self, Output};
use crate::files::{input, name_section};
use crate::terminal::stdout;

/// Lower a module to standard WebAssembly.
///
/// Instructions of the other designs become calls of reserved imports. Text without such
/// instructions is not changed. A binary is printed as text.
#[derive(Args)]
pub(crate) struct Lower {
    /// The module, as text (.wat) or binary (.wasm), or `-` for the standard
    /// input.
    file: PathBuf,

    /// The file to write: a binary if the name ends in .wasm, otherwise text. By default,
    /// or if it is `-`, text is printed.
    #[arg(short, long)]
    output: Option<PathBuf>,

    /// Prints the offset in the binary before each line, in hexadecimal. An invalid or
    /// malformed binary is printed up to the error.
    #[arg(long)]
    offsets: bool,
}

/// A module in both formats.
struct Lowered {
    text: String,
    binary: Vec<u8>,
}

impl Lower {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let bytes = input::module_bytes(&self.file)?;
        let lowered = lower(&bytes).map_err(|error| self.explain(&bytes, error))?;
        let lowered = if self.offsets { lowered.with_offsets()? } else { lowered };
        match self.output.as_deref().filter(|path| !output::is_stdout(path)) {
            None => stdout::text(&lowered.text)?,
            Some(path) => {
                let output = Output { what: "the lowered module", path };
                output.check_is_none_of(&[&self.file])?;
                lowered.write(&output)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The error of an invalid module. With `--offsets`, prints the module up to the error.
    fn explain(&self, bytes: &[u8], error: Error) -> Error {
        let listing = binary_listing::up_to_error(bytes, &error).filter(|_| self.offsets);
        let printed = listing.map_or(Ok(()), |listing| stdout::text(&listing));
        match printed {
            Ok(()) => input::in_file(&self.file, bytes, error),
            Err(error) => error,
        }
    }
}

/// Validates a module and lowers it.
fn lower(bytes: &[u8]) -> Result<Lowered> {
    Module::validate(&Engine::default(), bytes)?;
    match std::str::from_utf8(bytes) {
        Ok(source) if !source.starts_with('\0') => {
            let text = Text::parse(source).map_err(ModuleError::from)?;
            let lowered = text.lowered().unwrap_or(source).to_owned();
            let binary = name_section::without_labels(text.binary())?;
            Ok(Lowered { text: lowered, binary })
        }
        // A binary can happen to be UTF-8.
        _ => Ok(Lowered { text: wasmprinter::print_bytes(bytes)?, binary: bytes.to_vec() }),
    }
}

impl Lowered {
    /// Replaces the text by that of the binary, with the offset of each line.
    fn with_offsets(self) -> Result<Lowered> {
        let mut text = String::new();
        let mut print = wasmprinter::PrintFmtWrite(&mut text);
        wasmprinter::Config::new().print_offsets(true).print(&self.binary, &mut print)?;
        Ok(Lowered { text, ..self })
    }

    fn write(&self, output: &Output<'_>) -> Result<()> {
        let is_binary = output.path.extension().is_some_and(|extension| extension == "wasm");
        output.write(if is_binary { &self.binary } else { self.text.as_bytes() })
    }
}
