//! Modules: text and binaries, compiled files, linking, and excessive modules.

mod bombs;
mod dwarf;
mod examples;
mod file_cache;
mod hostile;
mod lazy_checks;
mod linking;
mod memory_images;
mod precompiled;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A new folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    folder
}
