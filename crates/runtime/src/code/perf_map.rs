//! `/tmp/perf-PID.map`: the file in which `perf` finds the names of generated functions.
//!
//! Each line has the address of a function, its length, and its name.

use crate::code::LoadedModule;
use ropewalk_abi::code::{FunctionCode, index};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// The path of the file of this process.
pub fn path() -> PathBuf {
    format!("/tmp/perf-{}.map", std::process::id()).into()
}

/// Adds the functions of a module, in one write, since other threads may add theirs.
pub fn add(module: &LoadedModule) -> io::Result<()> {
    let mut lines = String::new();
    for code in module.code.tables().functions {
        let &FunctionCode { start, end, .. } = code;
        let address = module.code.start() + start as usize;
        let name = name_of(module, code);
        let _ = writeln!(lines, "{address:x} {:x} {name}", end - start);
    }
    // Other users can write to the folder too, so links are not followed.
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path())?;
    file.write_all(lines.as_bytes())
}

/// The name of a function for native tools, on one line.
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
