//! Imports that nobody provides.

use ropewalk::{Error, ImportType};

use crate::plain::name;

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
        let (module, item) = (name(import.module()), name(import.name()));
        format!("\n  \"{module}\" \"{item}\": {}", import.ty())
    });
    let mut text: String = lines.collect();
    if missing.len() > MOST {
        text.push_str(&format!("\n  and {} more", missing.len() - MOST));
    }
    let mut helps = Vec::new();
    for help in missing.iter().map(|import| help(import.module())) {
        if !helps.contains(&help) && helps.len() < 3 {
            helps.push(help);
        }
    }
    Error::msg(format!("{file} imports what nobody provides:{text}\n{}", helps.join("\n")))
}

/// What may help, by the name of the module that is imported from.
fn help(module: &str) -> String {
    match module {
        "wasi_snapshot_preview1" | "wasi_unstable" => {
            format!("help: \"{module}\" has no such function")
        }
        "wasi" => "help: threads of WASI are not supported".to_owned(),
        "go" | "gojs" => {
            "help: it is a Go program for browsers; build it with GOOS=wasip1".to_owned()
        }
        "wbg" | "__wbindgen_placeholder__" => "help: it was made for JavaScript by wasm-bindgen; \
             build it for the target wasm32-wasip1"
            .to_owned(),
        _ if module.starts_with("wasi:") => {
            "help: it is part of a component, which are not supported; \
             build it for WASI preview 1"
                .to_owned()
        }
        _ => {
            let module = name(module);
            format!("help: `--preload {module}=FILE` takes \"{module}\" from another module")
        }
    }
}
