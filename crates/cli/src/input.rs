//! Reading files.

use std::path::Path;

use anyhow::Context;
use ropewalk::{Error, ModuleError, Result};

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String> {
    let bytes = bytes(path)?;
    String::from_utf8(bytes).with_context(|| format!("{} is not text in UTF-8", path.display()))
}

/// The error of a module, with the file that the module came from.
pub(crate) fn in_file(path: &Path, error: Error) -> Error {
    let name = path.display().to_string();
    match error.downcast::<ModuleError>() {
        Ok(error) => error.with_path(name).into(),
        Err(error) => error.context(name),
    }
}
