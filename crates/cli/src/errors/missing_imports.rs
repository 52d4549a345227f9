//! Errors about imports that no module provides.

use ropewalk::{Error, ImportType};

use crate::terminal::escape::name;

/// How many imports are listed.
const MAX_LISTED: usize = 20;

/// Replaces the error of an instantiation, which names the first missing import, by one that
/// lists all of them.
pub(crate) fn explain<'a>(
    error: Error,
    file: &str,
    missing: impl Iterator<Item = ImportType<'a>>,
) -> Error {
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return error;
    }
    let lines = missing.iter().take(MAX_LISTED).map(|import| {
        let (module, item) = (name(import.module()), name(import.name()));
        format!("\n  \"{module}\" \"{item}\": {}", import.ty())
    });
    let mut text: String = lines.collect();
    if missing.len() > MAX_LISTED {
        text.push_str(&format!("\n  and {} more", missing.len() - MAX_LISTED));
    }
    let mut hints = Vec::new();
    for hint in missing.iter().map(|import| hint(import.module())) {
        if !hints.contains(&hint) && hints.len() < 3 {
            hints.push(hint);
        }
    }
    Error::msg(format!("{file} has missing imports:{text}\n{}", hints.join("\n")))
}

/// What to do about a missing import from `module`.
fn hint(module: &str) -> String {
    match module {
        "wasi_snapshot_preview1" | "wasi_unstable" => {
            format!("help: \"{module}\" has no function of that name")
        }
        "wasi" => "help: WASI threads are not supported".to_owned(),
        "go" | "gojs" => {
            "help: the module is a Go program for browsers; build it with GOOS=wasip1".to_owned()
        }
        "wbg" | "__wbindgen_placeholder__" => {
            "help: the module was built for JavaScript by wasm-bindgen; \
             build it for the target wasm32-wasip1"
                .to_owned()
        }
        _ if module.starts_with("wasi:") => {
            "help: the module is part of a component, which are not supported; \
             build it for WASI preview 1"
                .to_owned()
        }
        _ => {
            let module = name(module);
            format!(
                "help: use `--preload {module}=FILE` to import \"{module}\" from another module"
            )
        }
    }
}
