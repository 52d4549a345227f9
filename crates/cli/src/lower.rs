//! `ropewalk lower`: shows a module of any design as a standard module.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::{Engine, Error, Module, ModuleError, Result};
use ropewalk_text::Text;

use crate::files::{self, Output};
use crate::{input, marked, names, output};

/// Lower a module to standard WebAssembly.
///
/// Forms of the other designs become calls of reserved imports; text without
/// any stays as it is. A binary is printed as text.
#[derive(Args)]
pub(crate) struct Lower {
    /// The module, as text (.wat) or binary (.wasm), or `-` for the standard
    /// input.
    file: PathBuf,

    /// Where to write it: as binary if the name ends in .wasm, else as text.
    /// Without, or to `-`, it is printed as text.
    #[arg(short, long)]
    output: Option<PathBuf>,

    /// Prints the offset in the binary before each line, in hexadecimal; of a
    /// binary that is invalid or malformed, all up to what is wrong.
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
        let lowered = lower(&bytes).map_err(|error| self.refused(&bytes, error))?;
        let lowered = if self.offsets { lowered.with_offsets()? } else { lowered };
        match self.output.as_deref().filter(|path| !files::is_stdout(path)) {
            None => output::text(&lowered.text)?,
            Some(path) => {
                let output = Output { what: "the lowered module", path };
                output.check_is_none_of(&[&self.file])?;
                lowered.write(&output)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Lower {
    /// The error of a module that is refused. If offsets are asked for, the module is printed up
    /// to what is wrong.
    fn refused(&self, bytes: &[u8], error: Error) -> Error {
        let listing = marked::up_to_error(bytes, &error).filter(|_| self.offsets);
        let printed = listing.map_or(Ok(()), |listing| output::text(&listing));
        match printed {
            Ok(()) => input::in_file(&self.file, bytes, error),
            Err(error) => error,
        }
    }
}

/// Lowers a module, which is valid then.
fn lower(bytes: &[u8]) -> Result<Lowered> {
    Module::validate(&Engine::default(), bytes)?;
    match std::str::from_utf8(bytes) {
        Ok(source) if !source.starts_with('\0') => {
            let text = Text::parse(source).map_err(ModuleError::from)?;
            let lowered = text.lowered().unwrap_or(source).to_owned();
            let binary = names::without_labels(text.binary())?;
            Ok(Lowered { text: lowered, binary })
        }
        // A binary can happen to be UTF-8.
        _ => Ok(Lowered { text: wasmprinter::print_bytes(bytes)?, binary: bytes.to_vec() }),
    }
}

impl Lowered {
    /// The text is that of the binary, with the offset of each line.
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
