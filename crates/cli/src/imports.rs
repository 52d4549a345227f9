//! Imports that nobody provides.

use ropewalk::{Error, ImportType};

/// How many of them are listed.
const MOST: usize = 20;

/// The error of an instantiation of what is in a file, with all imports that are missing
/// instead of the first.
pub(crate) fn explain<'a>(
    error: Error,
    file: &str,
    missing: impl Iterator<Item = ImportType<'a>>,
) -> Error {
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return error;
    }
    let lines = missing.iter().take(MOST).map(|import| {
        format!("\n  \"{}\" \"{}\": {}", import.module(), import.name(), import.ty())
    });
    let mut text: String = lines.collect();
    if missing.len() > MOST {
        text.push_str(&format!("\n  and {} more", missing.len() - MOST));
    }
    let mut hints = Vec::new();
    for hint in missing.iter().map(|import| hint(import.module())) {
        if !hints.contains(&hint) && hints.len() < 3 {
            hints.push(hint);
        }
    }
    Error::msg(format!("{file} imports what nobody provides:{text}\n{}", hints.join("\n")))
}

/// What may help, by the name of the module that is imported from.
fn hint(module: &str) -> String {
    match module {
        "wasi_snapshot_preview1" | "wasi_unstable" => {
            format!("hint: \"{module}\" has no such function")
        }
        "wasi" => "hint: threads of WASI are not supported".to_owned(),
        "go" | "gojs" => {
            "hint: it is a Go program for browsers; build it with GOOS=wasip1".to_owned()
        }
        "wbg" | "__wbindgen_placeholder__" => "hint: it was made for JavaScript by wasm-bindgen; \
             build it for the target wasm32-wasip1"
            .to_owned(),
        _ if module.starts_with("wasi:") => {
            "hint: it is part of a component, which are not supported; \
             build it for WASI preview 1"
                .to_owned()
        }
        _ => format!("hint: `--preload {module}=FILE` takes \"{module}\" from another module"),
    }
}
