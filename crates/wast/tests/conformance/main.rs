//! Test scripts: ours, generated ones, those of the reference, and the official suites, in all
//! stress modes.

mod checker;
mod directives;
mod generated;
mod official_suites;
mod reference;
mod runner;
#[path = "../../../ropewalk/tests/sample/mod.rs"]
mod sample;
mod scripts;
mod stack_switching;

use ropewalk::{Config, Engine};
use ropewalk_wast::WastRunner;
use std::fs;
use std::path::Path;

fn runner(config: &Config) -> WastRunner {
    WastRunner::new(&Engine::new(config).expect("the configuration is supported"))
}

/// A file of text.
struct File {
    name: String,
    text: String,
}

/// The files of a folder with an extension, by name. There are none if there is no such folder.
fn files(folder: impl AsRef<Path>, extension: &str) -> Vec<File> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let file = |path: &Path| File {
        name: path.file_name().expect("a file has a name").to_string_lossy().into_owned(),
        text: fs::read_to_string(path).expect("a file is text"),
    };
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    let mut files: Vec<File> = paths.map(|path| file(&path)).collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}
