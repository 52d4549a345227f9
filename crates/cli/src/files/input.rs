//! Reads modules and scripts, and rejects files that are neither.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use anyhow::{Context, bail};
use ropewalk::{Engine, Error, Module, ModuleError, OtherSettings, Result};

use crate::errors::binary_listing;
use crate::terminal::progress;

/// The name of the standard input on the command line.
const STDIN: &str = "-";

/// The first bytes of a component. Those of a module have another version and layer.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The bytes of a file, or of the standard input.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let bytes = if is_stdin(path) { stdin() } else { std::fs::read(path) };
    bytes.or_else(|error| match error.kind() {
        ErrorKind::IsADirectory => bail!("{} is a directory, not a file", name(path)),
        _ => Err(error).with_context(|| format!("cannot read {}", name(path))),
    })
}

fn stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String> {
    let bytes = bytes(path)?;
    String::from_utf8(bytes).with_context(|| format!("{} is not text in UTF-8", name(path)))
}

/// The bytes of a file that may be a module, but not a compiled one.
pub(crate) fn module_bytes(path: &Path) -> Result<Vec<u8>> {
    let bytes = bytes(path)?;
    if Module::is_precompiled(&bytes) {
        bail!(
            "{} is already compiled, which only `ropewalk run` accepts; expected the module that \
             it was compiled from",
            name(path)
        );
    }
    check(path, &bytes)?;
    Ok(bytes)
}

/// Fails if a file is recognizably not a module.
fn check(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = name(path);
    if bytes.is_empty() {
        bail!("{name} is empty");
    }
    if bytes.starts_with(COMPONENT) {
        bail!(
            "{name} is a component, and components are not supported, only modules. \
             Compile to a module instead, for example with the target wasm32-wasip1"
        );
    }
    let is_wasm = path.extension().is_some_and(|extension| extension == "wasm");
    if let (true, Some(beginning)) = (is_wasm, other_text(bytes)) {
        bail!(
            "{name} is not WebAssembly: its name ends in .wasm, \
             but it is text that begins with `{beginning}`"
        );
    }
    Ok(())
}

/// The first characters of text that is not WebAssembly text, which would begin with a
/// parenthesis or a comment.
fn other_text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start();
    let is_other = !text.starts_with(['(', ';', '\0']);
    is_other.then(|| text.lines().next().unwrap_or_default().chars().take(20).collect())
}

/// The module in a file, which may be compiled already.
///
/// Only a regular file is inspected before it is read, since a pipe can be read only once.
pub(crate) fn module(engine: &Engine, path: &Path) -> Result<Module> {
    if is_regular(path) {
        if begins_as_precompiled(path) {
            return precompiled(engine, path);
        }
        if let Some(module) = Module::from_cache(engine, path) {
            return Ok(module);
        }
    }
    let bytes = bytes(path)?;
    if !Module::is_precompiled(&bytes) {
        check(path, &bytes)?;
    }
    module_of_bytes(engine, &name(path), &bytes).map_err(|error| binary_listing::add(&bytes, error))
}

/// The module in bytes that were read from the file `name`.
#[allow(unsafe_code)]
pub(crate) fn module_of_bytes(engine: &Engine, name: &str, bytes: &[u8]) -> Result<Module> {
    let line = progress::ProgressLine::new(name);
    if Module::is_precompiled(bytes) {
        // SAFETY: as in `precompiled`.
        let module = unsafe {
            Module::deserialize_or_compile(engine, bytes, |progress| line.show(progress))
        };
        return module.with_context(|| format!("cannot use {name}"));
    }
    Module::watched(engine, bytes, name, |progress| line.show(progress))
}

/// Whether a path names a regular file, which can be read any number of times.
fn is_regular(path: &Path) -> bool {
    !is_stdin(path) && std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether a path names a stream, such as a pipe, which can be read only once.
pub(crate) fn is_read_once(path: &Path) -> bool {
    let is_other = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    is_stdin(path) || std::fs::metadata(path).is_ok_and(is_other)
}

/// Whether a regular file is a compiled module.
fn begins_as_precompiled(path: &Path) -> bool {
    let mut beginning = [0; 8];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut beginning).is_ok())
        && Module::is_precompiled(&beginning)
}

/// The module in a file that `ropewalk compile` wrote. It is compiled again if the engine's
/// settings need different code.
#[allow(unsafe_code)]
fn precompiled(engine: &Engine, path: &Path) -> Result<Module> {
    // SAFETY: the file is a program, and the user trusts the programs that they run. This
    // command replaces such files and never overwrites them while they are mapped.
    match unsafe { Module::deserialize_file(engine, path) } {
        Err(error) if error.is::<OtherSettings>() => {
            module_of_bytes(engine, &name(path), &bytes(path)?)
        }
        module => module,
    }
}

/// Whether a path stands for the standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Adds the name of the file to the error of a module, and a listing if it is a binary.
pub(crate) fn in_file(path: &Path, bytes: &[u8], error: Error) -> Error {
    let name = name(path).into_owned();
    match error.downcast::<ModuleError>() {
        Ok(error) => binary_listing::add(bytes, error.with_path(name).into()),
        Err(error) => error.context(name),
    }
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> Cow<'_, str> {
    match is_stdin(path) {
        true => "the standard input".into(),
        false => path.to_string_lossy(),
    }
}
