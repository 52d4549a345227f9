//! The file in which `perf` looks for the names of functions that were made at run time.
//!
//! Each line has where the code of a function begins, how long it is, and a name. Which stack
//! it runs on does not matter: `perf` goes by addresses.

use crate::code::LoadedModule;
use ropewalk_abi::code::{FunctionCode, index};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// Where `perf` looks for the names of this process.
pub fn path() -> PathBuf {
    format!("/tmp/perf-{}.map", std::process::id()).into()
}

/// Adds the functions of a module. It is one write, so that modules that are loaded at the same
/// time do not come into each other's lines.
pub fn add(module: &LoadedModule) -> io::Result<()> {
    let mut lines = String::new();
    for code in module.code.tables().functions {
        let &FunctionCode { start, end, .. } = code;
        let address = module.code.start() + start as usize;
        let name = name_of(module, code);
        let _ = writeln!(lines, "{address:x} {:x} {name}", end - start);
    }
    // Others can write to the folder too: a link that one of them has put there is not followed.
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path())?;
    file.write_all(lines.as_bytes())
}

/// What tools call a function, on one line.
pub(crate) fn name_of(module: &LoadedModule, code: &FunctionCode) -> String {
    match index(code.function) {
        Some(function) => name(module, function),
        None => "wasm thunk".to_string(),
    }
}

fn name(module: &LoadedModule, function: u32) -> String {
    let module_name = module.info.name.as_deref().unwrap_or("<module>");
    let name = match module.info.function_name(function) {
        Some(name) => format!("wasm {module_name}!{name}"),
        None => format!("wasm {module_name}!<function {function}>"),
    };
    name.replace(char::is_control, "?")
}
